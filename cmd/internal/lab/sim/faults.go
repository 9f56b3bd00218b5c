package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rvol/agent/agenttest"
	"rvol/drbd/drbdtest"
)

// Fault spoils a node's tools: `hang`, `garbage`, `missing`, or `fail CODE TEXT`.
func (s *Scripted) Fault(node, verb, kind string, args []string) error {
	n, err := s.Node(node)
	if err != nil {
		return err
	}
	undo, err := n.fault(verb, kind, args)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[node] = append(s.faults[node], undo)
	return nil
}

// Mend ends all faults of a node.
func (s *Scripted) Mend(node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, undo := range s.faults[node] {
		undo()
	}
	delete(s.faults, node)
	return nil
}

// always is how often a fault of LVM's is set to happen: the simulation counts.
const always = 1000

func (n *Node) fault(verb, kind string, args []string) (undo func(), err error) {
	switch {
	case !slices.Contains([]string{"hang", "garbage", "missing", "fail"}, kind):
		return nil, fmt.Errorf("no fault %q: want hang, garbage, missing or fail", kind)
	case kind == "missing":
		return n.lose(verb), nil
	case strings.HasPrefix(verb, "drbd") || drbdVerbs[verb]:
		return n.DRBD.Inject(faultOfDRBD(verb, kind, args)), nil
	default:
		return n.faultOfLVM(verb, kind, args), nil
	}
}

// lose takes a program off the node.
func (n *Node) lose(program string) (undo func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.missing[program] = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.missing, program)
	}
}

func faultOfDRBD(verb, kind string, args []string) drbdtest.Fault {
	f := drbdtest.Fault{Match: verb}
	switch kind {
	case "hang":
		f.Hang = true
	case "garbage":
		f.Garble = func(b []byte) []byte { return append([]byte("\x00{{"), b[:len(b)/2]...) }
	case "fail":
		f.Code, f.Stderr = exit(args)
	}
	return f
}

func (n *Node) faultOfLVM(verb, kind string, args []string) (undo func()) {
	switch kind {
	case "hang":
		return n.LVM.Hang(verb)
	case "garbage":
		n.LVM.Garble(verb, `{"report": [{"vg": [`)
		return func() { n.LVM.Garble(verb, "") }
	}
	code, text := exit(args)
	var undos []func()
	for range always {
		undos = append(undos, n.LVM.Fail(verb, 1, code, text))
	}
	return func() {
		for _, one := range undos {
			one()
		}
	}
}

var drbdVerbs = map[string]bool{
	"up": true, "down": true, "adjust": true, "primary": true, "secondary": true, "new-current-uuid": true,
	"create-md": true, "events2": true, "status": true, "pause-sync": true,
}

func exit(args []string) (code int, text string) {
	if len(args) != 2 {
		return 5, "injected failure"
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		code = 5
	}
	return code, args[1]
}

// Corrupt writes to a logical volume itself.
func (s *Scripted) Corrupt(_ context.Context, node, lv string, offset int64, data []byte) error {
	return s.with(node, func(n *Node) error {
		d, err := n.LVM.Open("/dev/" + lv)
		if err != nil {
			return err
		}
		_, err = d.WriteAt(data, offset)
		return errors.Join(err, d.Close())
	})
}

// Foreign makes a logical volume that is not rvol's.
func (s *Scripted) Foreign(node, vg, name string, size int64) error {
	return s.with(node, func(n *Node) error { return n.LVM.AddForeign(vg, name, size) })
}

// Disk lets the disk of a volume group go wrong, or come back.
func (s *Scripted) Disk(node, vg, what string) error {
	return s.with(node, func(n *Node) error {
		ways := map[string]func(string){
			"break": n.LVM.BreakDisk, "mend": n.LVM.MendDisk, "take": n.LVM.LoseDisk, "give": n.LVM.ReturnDisk,
			"fill":    func(string) { n.LVM.FillPools(vg) },
			"add":     func(disk string) { n.LVM.AddDisk(disk, n.c.GroupSize) },
			"replace": func(string) { n.LVM.ReplaceGroup(vg) },
		}
		do := ways[what]
		if do == nil {
			return fmt.Errorf("disk %s: want add, fill, break, mend, take, give or replace", what)
		}
		do(agenttest.DiskOf(vg))
		return nil
	})
}
