package drbdtest

import (
	"context"
	"strings"
)

// A Fault spoils commands of a node.
type Fault struct {
	// Match is a run of words of the command line, without drbdadm's -c FILE:
	// "primary", "drbdadm up", "drbdsetup new-current-uuid 1000". Empty: all.
	Match string
	// Skip lets so many matching commands pass first.
	Skip int
	// Times ends the fault after so many; 0: never.
	Times int

	Hang   bool                // the command does not end, and does its work only when the fault does
	Code   int                 // exit code, with Stderr, in place of running
	Stderr string              // ...
	After  bool                // run it first, then fail as said
	Garble func([]byte) []byte // what it prints
}

// Inject adds a fault, until remove is called.
func (n *Node) Inject(fault Fault) (remove func()) {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &fault
	n.faults = append(n.faults, p)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		n.dropFault(p)
		p.Hang = false
		f.wake()
	}
}

func (n *Node) dropFault(p *Fault) {
	for i, q := range n.faults {
		if p == q {
			n.faults = append(n.faults[:i:i], n.faults[i+1:]...)
			return
		}
	}
}

// fault finds the fault of a command and counts it.
func (n *Node) fault(line string) *Fault {
	for _, p := range n.faults {
		if !strings.Contains(" "+line+" ", " "+p.Match+" ") && p.Match != "" {
			continue
		}
		if p.Skip > 0 {
			p.Skip--
			continue
		}
		if p.Times > 0 {
			if p.Times--; p.Times == 0 {
				n.dropFault(p)
			}
		}
		return p
	}
	return nil
}

// spoil runs a command as its fault wants.
func (n *Node) spoil(ctx context.Context, p *Fault, run func() ([]byte, error)) ([]byte, error) {
	var out []byte
	var err error
	fails := p.Code != 0 || p.Hang
	if !fails || p.After {
		out, err = run()
	}
	hung := p.Hang
	for p.Hang {
		if err := n.waiting(ctx); err != nil {
			return nil, err
		}
	}
	if hung && !p.After { // whatever held it has let go
		out, err = run()
	}
	if p.Code != 0 {
		return nil, refuse(p.Code, "%s", p.Stderr)
	}
	if p.Garble != nil && err == nil {
		out = p.Garble(out)
	}
	return out, err
}
