package act

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"rvol/agent/decide"
	"rvol/drbd"
)

// do carries out one step.
func (e *Engine) do(ctx context.Context, in decide.Input, step decide.Step) error {
	switch s := step.(type) {
	case decide.CreateLV, decide.GrowLV, decide.ActivateLV, decide.MoveMetadata, decide.MakeMetadata, decide.WipeMetadata, decide.RemoveLV, decide.MakeVG:
		return e.doVolume(ctx, step)
	case decide.WriteFile:
		return e.writeFile(ctx, s)
	case decide.RemoveFile:
		return removeFile(e.resFile(s.Resource))
	case decide.Link:
		return e.link(s)
	case decide.Unlink:
		return e.unlink(s)
	case decide.RememberFilled, decide.TellPeer:
		return e.doFilled(ctx, in, step)
	case decide.Finish:
		return e.Journal.Finish(s.Result)
	default:
		return e.doDRBD(ctx, in, step)
	}
}

// doDRBD carries out what the kernel's DRBD is asked.
func (e *Engine) doDRBD(ctx context.Context, in decide.Input, step decide.Step) error {
	tool := e.DRBD.Tool()
	switch s := step.(type) {
	case decide.Up:
		if err := tool.Up(ctx, e.ref(s.Target)); err != nil {
			return err
		}
		return e.applied(s.Resource)
	case decide.Attach, decide.Detach, decide.Disconnect, decide.ForgetPeers:
		return e.doMesh(ctx, step)
	case decide.Adjust:
		return e.adjust(ctx, s)
	case decide.Primary, decide.Secondary, decide.Connect, decide.Reconnect, decide.ConfirmTogether:
		return e.doRole(ctx, step)
	case decide.Down:
		return e.down(ctx, in, s)
	case decide.Resize, decide.HoldSize, decide.RememberSize:
		return e.doSize(ctx, step)
	case decide.NewCurrentUUID:
		return e.newCurrentUUID(ctx, s)
	case decide.MeetAgain, decide.TakeAsGood, decide.Verify, decide.Repair:
		return e.doWithPeer(ctx, step)
	}
	return fmt.Errorf("no way to %s", step)
}

// doMesh carries out what changes who has a disk and who knows whom.
func (e *Engine) doMesh(ctx context.Context, step decide.Step) error {
	tool := e.DRBD.Tool()
	switch s := step.(type) {
	case decide.Attach:
		return tool.Attach(ctx, e.ref(s.Target), s.Number)
	case decide.Detach:
		return tool.DetachDiskless(ctx, s.Minor)
	case decide.Disconnect:
		return tool.DelPeer(ctx, e.ref(s.Target), drbd.NoNode)
	case decide.ForgetPeers:
		for _, id := range s.Peers {
			if err := tool.ForgetPeer(ctx, s.Resource, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) down(ctx context.Context, in decide.Input, s decide.Down) error {
	e.forget(s.Resource)
	defer func() {
		for vg := range groups(in.Desired, s.Resource) {
			e.LVM.Fresh(ctx, vg, 0) // its volumes are not open any more
		}
	}()
	return e.DRBD.Tool().Down(ctx, s.Resource)
}

// doRole carries out what makes a resource serve, or not.
func (e *Engine) doRole(ctx context.Context, step decide.Step) error {
	switch s := step.(type) {
	case decide.Primary:
		return e.promote(ctx, s)
	case decide.Secondary:
		return e.DRBD.Tool().Secondary(ctx, e.ref(s.Target))
	case decide.Connect:
		return e.connect(ctx, s)
	case decide.Reconnect:
		tool, ref := e.DRBD.Tool(), e.ref(s.Target)
		if err := tool.Disconnect(ctx, ref, s.Peer); err != nil {
			return err
		}
		return tool.Connect(ctx, ref, s.Peer)
	case decide.ConfirmTogether:
		return e.confirmTogether(ctx, s)
	}
	return fmt.Errorf("no way to %s", step)
}

func (e *Engine) ref(t decide.Target) drbd.Ref {
	return drbd.Ref{Name: t.Resource, File: e.resFile(t.Resource), Minors: t.Minors, Alone: t.Alone}
}

// applied notes that the kernel runs what the file says.
func (e *Engine) applied(resource string) error {
	text, err := os.ReadFile(e.resFile(resource))
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts.applied[resource] = string(text)
	return nil
}

func (e *Engine) forget(resource string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.facts.applied, resource)
}

// adjust reads what it would run before it runs it.
func (e *Engine) adjust(ctx context.Context, s decide.Adjust) error {
	tool, ref := e.DRBD.Tool(), e.ref(s.Target)
	commands, err := tool.DryAdjust(ctx, ref)
	if err != nil {
		return err
	}
	if why := s.Allow.Check(s.Resource, commands); why != nil {
		return why
	}
	grows := slices.ContainsFunc(commands, drbd.Command.Grows)
	if grows && !slices.ContainsFunc(commands, func(c drbd.Command) bool { return !c.Grows() }) {
		commands = nil // a size is held that the file knows nothing of: it stays so until the order says Resize
	}
	if len(commands) > 0 || s.Alone {
		if err := tool.Adjust(ctx, ref); err != nil {
			return err
		}
	}
	return e.applied(s.Resource)
}

// newCurrentUUID writes down that it begins; should it be interrupted, the
// next round looks instead of running it again.
func (e *Engine) newCurrentUUID(ctx context.Context, s decide.NewCurrentUUID) error {
	if err := e.Journal.Start(s.Operation); err != nil {
		return err
	}
	result := decide.Result{ID: s.Operation, Succeeded: true, Text: "first data generation created"}
	for _, minor := range s.Devices {
		err := e.DRBD.Tool().NewCurrentUUID(ctx, minor, s.Sync)
		if _, refused := errors.AsType[*drbd.Error](err); refused {
			result.Succeeded, result.Text = false, err.Error()
			break
		}
		if err != nil {
			return err // nobody knows: look
		}
	}
	if err := e.reached("ran: " + s.String()); err != nil {
		return err
	}
	return e.Journal.Finish(result)
}
