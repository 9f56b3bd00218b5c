package act

import (
	"errors"
	"fmt"
	"strings"

	"rvol/agent/decide"
	"rvol/agent/host"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/lvm"
)

// kinds orders errors into classes. Definite is what waiting will not cure.
var kinds = []struct {
	err      error
	class    string
	definite bool
}{
	{storage.ErrStuck, decide.Stuck, false},
	{storage.ErrForeign, decide.Foreign, true},
	{lvm.ErrNoSpace, decide.NoSpace, true},
	{lvm.ErrPoolFull, decide.NoSpace, true},
	{lvm.ErrExists, decide.Foreign, true},
	{lvm.ErrToolMissing, decide.NoTool, false},
	{drbd.ErrToolMissing, decide.NoTool, false},
	{drbd.ErrNoModule, decide.NoTool, false},
	{lvm.ErrInUse, decide.InUse, false},
	{drbd.ErrHeldOpen, decide.InUse, false},
	{drbd.ErrTooSmall, decide.Refused, true},
}

// explain says what a failed step means for the replica.
func explain(step fmt.Stringer, err error) *decide.Refusal {
	if r, ok := errors.AsType[*decide.Refusal](err); ok {
		return r
	}
	r := &decide.Refusal{Class: decide.Other, Text: fmt.Sprintf("%s: %v", step, err)}
	if _, ok := errors.AsType[*drbd.Error](err); ok {
		r.Class = decide.Refused
	}
	if _, ok := errors.AsType[interface {
		error
		Done() <-chan struct{}
	}](err); ok {
		r.Class = decide.Stuck
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			r.Class, r.Definite = k.class, k.definite
			break
		}
	}
	return r
}

// nameUsers says who holds a device open, as far as the machine tells, or the kernel's
// refusal does.
func (e *Engine) nameUsers(r *decide.Refusal, step fmt.Stringer, err error, seen drbd.Resource) {
	if !errors.Is(err, drbd.ErrHeldOpen) {
		return
	}
	var users []string
	for _, d := range seen.Devices {
		device := fmt.Sprintf("/dev/drbd%d", d.Minor)
		for _, who := range host.Users(e.Root, device) {
			users = append(users, device+" is "+who)
		}
	}
	if len(users) > 0 {
		r.Text = fmt.Sprintf("%s: %s: unmount it, or end who has it open", step, strings.Join(users, ", "))
		return
	}
	if who := drbd.Openers(err); len(who) > 0 {
		names := make([]string, len(who))
		for i, o := range who {
			names[i] = fmt.Sprintf("%s (pid %d) has %s open", o.Process, o.PID, o.Device)
		}
		r.Text = fmt.Sprintf("%s: %s: end it or unmount", step, strings.Join(names, ", "))
	}
}
