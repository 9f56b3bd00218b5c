package chaos

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"rvol/cmd/internal/lab/sim"
	"rvol/drbd/drbdtest"
	adminv1 "rvol/proto/admin/v1"
)

// liar is a coordinator whose answers are bent.
type liar struct {
	grpc.ClientConnInterface
	bend func(reply any)
}

func (l *liar) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := l.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	l.bend(reply)
	return err
}

// breach breaks one promise of a cluster that is well.
type breach struct {
	promise string // with which the complaint begins
	does    string
	breaks  func(b *broken)
	bends   func(b *broken, reply any) // answers of every coordinator; nil: they are true
}

// broken is a run with one volume in use.
type broken struct {
	*testing.T
	*run
	v           *volume
	user, other *sim.Node
}

var breaches = []breach{
	{promise: "I1:", does: "a volume group has more reserved than it may", bends: func(_ *broken, reply any) {
		if list, ok := reply.(*adminv1.ListLVGsResponse); ok {
			s := list.GetLvgs()[0].GetSpaces()[0]
			s.Reserved = s.GetLimit() + 1
		}
	}},
	{promise: "I2:", does: "the cluster's own check finds that sums differ", bends: func(_ *broken, reply any) {
		if c, ok := reply.(*adminv1.ClusterCheck); ok {
			c.Invariants[slices.IndexFunc(c.GetInvariants(), func(i *adminv1.Invariant) bool { return i.GetId() == "I2" })].Status = "False"
		}
	}},
	{promise: "I3:", does: "a volume that was made is not there", bends: func(_ *broken, reply any) {
		if list, ok := reply.(*adminv1.ListVolumesResponse); ok {
			list.Volumes = nil
		}
	}},
	{promise: "I3:", does: "a request that is repeated is about another object", breaks: func(b *broken) {
		b.client.compare("id", "one", "another", nil)
	}},
	{promise: "I3:", does: "a block holds what nobody acknowledged", breaks: func(b *broken) {
		b.ok(b.s.Write(b.ctx, b.user.Name, b.v.name, 0, content(b.v.name, 0, 1_000_000)))
		b.v.io.Lock()
		b.v.blocks[0] = acked{number: 7}
		b.v.io.Unlock()
		if err := b.v.verify(b.ctx, b.user.Name); err != nil {
			b.wrongf("I3: %v", err)
		}
	}},
	{promise: "I4:", does: "a node serves that nobody asked to", breaks: func(b *broken) {
		b.ok(b.s.StopAgent(b.user.Name))
		b.ok(b.s.StopAgent(b.other.Name))
		b.eventually("drbdsetup", "secondary", "rvol-"+b.v.name)
		b.tool(b.other, "drbdsetup", "primary", "rvol-"+b.v.name)
		time.Sleep(10 * time.Second) // a writer tries
		b.tool(b.other, "drbdsetup", "secondary", "rvol-"+b.v.name)
		b.ok(b.s.StartAgent(b.user.Name))
		b.ok(b.s.StartAgent(b.other.Name))
	}},
	{promise: "I5:", does: "a data generation is begun on a volume that has one", breaks: func(b *broken) {
		_, _ = b.user.Run(b.ctx, "drbdsetup", "new-current-uuid", "--clear-bitmap", "10000") // refused, and tried all the same
	}},
	{promise: "I5:", does: "a volume is not formed any more", bends: func(_ *broken, reply any) {
		if list, ok := reply.(*adminv1.ListVolumesResponse); ok {
			list.GetVolumes()[0].Formed = false
		}
	}},
	{promise: "I6:", does: "what is somebody else's is gone", breaks: func(b *broken) {
		b.tool(b.s.Nodes()[0], "lvremove", "--yes", "vg0/"+theirs)
	}},
	{promise: "I7:", does: "something is left that belongs to nobody", breaks: func(b *broken) {
		b.patience = 20 * time.Second
		b.until(b.ctx, "nothing is left", b.leftovers)
	}},
	{promise: "I8:", does: "two coordinators remember different things", bends: func(b *broken, reply any) {
		if st, ok := reply.(*adminv1.ClusterStatus); ok && st.GetAnsweredBy() == "n2" {
			st.StateHash = "another"
		}
	}},
	{promise: "I9:", does: "an agent goes back to an older order", breaks: func(b *broken) {
		path := filepath.Join(b.user.State(), "order.json")
		text, err := os.ReadFile(path)
		b.ok(err)
		var file map[string]any
		b.ok(json.Unmarshal(text, &file))
		for _, desired := range file {
			if d, ok := desired.(map[string]any); ok && d["order"] != nil {
				d["order"] = map[string]any{"incarnation": 1, "index": 1}
			}
		}
		old, err := json.Marshal(file)
		b.ok(err)
		b.ok(os.WriteFile(path, old, 0o600))
		b.truth.look()
		b.ok(os.WriteFile(path, text, 0o600))
	}},
	{promise: "I10:", does: "everybody may read a file with a secret in it", breaks: func(b *broken) {
		b.ok(os.Chmod(filepath.Join(b.user.Root, "etc/drbd.d/rvol", "rvol-"+b.v.name+".res"), 0o644)) //nolint:gosec // that is the fault
		b.truth.leaks()
	}},
}

func (b *broken) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *broken) tool(n *sim.Node, argv ...string) {
	b.Helper()
	_, err := n.Run(b.ctx, argv...)
	b.ok(err)
}

// eventually runs a tool on the user's node until it succeeds: a write may be under way.
func (b *broken) eventually(argv ...string) {
	b.Helper()
	for range 100 {
		if _, err := b.user.Run(b.ctx, argv...); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Fatalf("%s: not once", strings.Join(argv, " "))
}

// inUse makes a volume of two copies, and uses it.
func (b *broken) inUse() {
	b.Helper()
	b.say("one volume, in use")
	for b.v == nil || len(b.v.copies()) < 2 {
		b.v = nil
		create(b.ctx, b.run, b.rnd, nil)
		time.Sleep(time.Minute)
		b.check(b.ctx)
		b.v = b.volumes[len(b.volumes)-1]
	}
	attach(b.ctx, b.run, b.rnd, b.v)
	time.Sleep(time.Minute)
	b.check(b.ctx)
	copies := b.v.copies()
	for _, n := range b.s.Nodes() {
		switch {
		case n.Name == b.v.uses:
			b.user = n
		case slices.ContainsFunc(copies, func(p *adminv1.Replica) bool { return p.GetNode() == n.Name }):
			b.other = n
		}
	}
	b.ok(b.failed())
}

// TestEveryBrokenPromiseIsNoticed breaks each on purpose: a check that nothing can fail
// proves nothing.
func TestEveryBrokenPromiseIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := begin(ctx, Config{
			Seed: 1, DRBD: drbdtest.V9, Dir: filepath.Join(dir, "state"), LogFile: log, Log: slog.New(slog.DiscardHandler), Say: t.Logf,
		})
		defer func() { _ = r.close(cancel) }() // what it was made for is over
		if err != nil {
			t.Fatal(err)
		}
		b := &broken{T: t, run: r}
		b.inUse()
		honest := slices.Clone(r.client.conns)
		for _, c := range breaches {
			for i, conn := range honest {
				if c.bends != nil {
					conn = &liar{conn, func(reply any) { c.bends(b, reply) }}
				}
				r.client.conns[i] = conn
			}
			if c.breaks != nil {
				c.breaks(b)
			}
			r.check(ctx)
			if err := r.failed(); err == nil || !strings.Contains(err.Error(), c.promise) {
				t.Errorf("%s: want a complaint of %s, got %v", c.does, c.promise, err)
			}
			r.wrong = nil
		}
	})
}

func TestWhatWasNotMetIsAFailure(t *testing.T) {
	c := newCounts()
	c.expect(faultGroup, "power of a node")
	c.add(faultGroup, "connections reset", 1)
	if !c.missing() {
		t.Error("a kind of fault that was never met is not missed")
	}
	c.add(faultGroup, "power of a node", 1)
	if c.missing() {
		t.Error("all was met, and something is missed")
	}
}
