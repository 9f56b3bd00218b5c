package steps_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"testing/synctest"

	"rvol/agent/act"
	"rvol/agent/agenttest"
	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/agent/storage"
	"rvol/coordinator/model"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	"rvol/lvm"
)

// node is a simulated machine with all of an agent but the session.
type node struct {
	*agenttest.Machine
	t       *testing.T
	index   int
	vgs     map[string]string   // UUIDs, by name
	status  *model.VolumeStatus // as it was when the node was last told
	step    string              // the active one, then
	journal *act.Journal
	engine  *act.Engine
	on      bool
	fenced  bool // the operator said that it is off
	deaf    bool // no coordinator reaches it
	stop    func()
	crash   crash
	ended   chan struct{} // closed when the agent does not work any more
}

func newNode(t *testing.T, f *drbdtest.Fabric, index int, v drbd.Version, root string) *node {
	t.Helper()
	name := fmt.Sprintf("n%d", index)
	m, err := agenttest.New(f, agenttest.Config{
		Name: name, Version: v, Root: filepath.Join(root, name), Seed: uint64(index + 1),
		Groups: map[string]int64{"vg0": 1 << 30, "vg1": 1 << 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Machine: m, t: t, index: index, on: true, vgs: map[string]string{}}
	for _, vg := range []string{"vg0", "vg1"} {
		r, err := lvm.New(m.LVM.Run).Report(t.Context(), vg)
		if err != nil {
			t.Fatal(err)
		}
		n.vgs[vg] = r.VGs[0].UUID
	}
	n.start()
	return n
}

func (n *node) address() netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n.index + 1)}) }

// start brings the agent to life.
func (n *node) start() {
	n.t.Helper()
	var err error
	if n.journal, err = act.OpenJournal(filepath.Join(n.Root, "var/lib/rvol/agent"), n.crash.hook); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	log, locks, tool := slog.New(slog.DiscardHandler), storage.NewLocks(), lvm.New(n.Run)
	seen := observe.NewLVM(tool, locks, n.Root, func() { n.engine.Poke() })
	kernel := observe.NewDRBD(n.Run, n.DRBD.Follow, n.Root, log, func(names ...string) { n.engine.Poke(names...) })
	n.engine = act.NewEngine(act.Config{
		Log: log, Root: n.Root, Journal: n.journal, LVM: seen, DRBD: kernel, Tool: tool, Locks: locks,
		Changed: func() {}, Doing: func() {}, Hook: n.crash.hook,
		MayServeAlone: func(context.Context, string) error { return nil }, // one node alone is ever told to serve
	})
	ended := make(chan struct{})
	n.ended = ended
	done := make(chan error, 3)
	go func() { done <- seen.Run(ctx) }()
	go func() { done <- kernel.Run(ctx) }()
	go func() { err := n.engine.Run(ctx); close(ended); done <- err }()
	n.stop = func() {
		cancel()
		for range 3 {
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errCrash) {
				n.t.Errorf("agent of %s: %v", n.Name, err)
			}
		}
	}
	synctest.Wait()
}

// rest ends the agent alone; what it said last stands.
func (n *node) rest() {
	n.stop()
	n.stop = func() {}
}

// give hands over an order, as the session does.
func (n *node) give(d decide.Desired) {
	n.t.Helper()
	switch err := n.journal.Accept(d); {
	case errors.Is(err, errCrash):
		n.stop()
		n.stop = func() {}
	case err != nil:
		n.t.Fatal(err)
	default:
		n.engine.Order(d, true)
	}
}

// kill takes the power.
func (n *node) kill() {
	n.t.Helper()
	n.stop()
	if err := n.PowerOff(); err != nil {
		n.t.Fatal(err)
	}
	n.on = false
}

// boot brings the node back, without a word from a coordinator.
func (n *node) boot() {
	n.PowerOn()
	n.on = true
	n.start()
}

func (n *node) tool() *drbd.Tool { return drbd.New(n.DRBD.Run, n.DRBD.Version()) }

// kernel is what the node has of the volume; false: it is not up.
func (n *node) kernel() (drbd.Resource, bool) {
	if !n.on {
		return drbd.Resource{}, false
	}
	r, err := n.tool().Status(n.t.Context(), resource)
	return r, err == nil
}
