package kernel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rvol/cmd/internal/lab"
)

// How long status waits for a node that does not answer.
const askTimeout = 5 * time.Second

// Status implements lab.World.
func (w *World) Status(ctx context.Context) (lab.Status, error) {
	s := lab.Status{World: "kernel", Name: w.cfg.Name, Dir: w.cfg.Dir, Nodes: make([]lab.NodeStatus, w.cfg.Nodes)}
	err := w.each(func(n *node) error {
		s.Nodes[n.index-1] = n.status(ctx)
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, h := range w.hubs {
		for _, fault := range h.Faults() {
			s.Links = append(s.Links, fmt.Sprintf("network %d: %s", i+1, fault))
		}
	}
	return s, err
}

func (n *node) status(ctx context.Context) lab.NodeStatus {
	n.mu.Lock()
	m, off := n.machine, n.off
	s := lab.NodeStatus{Name: n.name, State: n.state, Address: lab.Address(1, n.index), Booted: n.booted}
	n.mu.Unlock()
	switch {
	case m == nil:
		s.State = "off"
		return s
	case !alive(m):
		s.State = "off"
		if !off {
			s.State, s.Detail = "dead", fmt.Sprintf("it ended by itself: %v", m.Err())
		}
		return s
	}
	s.PID = m.PID()
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
	defer cancel()
	// the loaded module, or else the one that modprobe would load
	out, err := output(ctx, m, "sh", "-c", "uname -r; cat /sys/module/drbd/version 2>/dev/null || modinfo -F version drbd")
	if err != nil {
		s.Detail = err.Error()
		return s
	}
	s.Kernel, s.DRBD, _ = strings.Cut(out, "\n")
	return s
}
