package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"rvol/coordinator/consensus"
	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Placements are measured in turns with raw Raft: the same library, store and disk, and
// entries of 512 bytes that nobody reads.
const (
	placeRounds = 5
	placeFor    = 500 * time.Millisecond
	placeNodes  = 100
	shared      = 32 // placements that may share an entry
)

// BenchmarkPlacements prints placements per second, planning included, as a multiple of
// raw no-op entries per second: with one placement under way per client, and with many.
func BenchmarkPlacements(b *testing.B) {
	for b.Loop() {
		for _, clients := range []int{1, 64, 256} {
			b.Run(strconv.Itoa(clients), func(b *testing.B) { placeInTurns(b, clients) })
		}
	}
}

func placeInTurns(b *testing.B, clients int) {
	b.Helper()
	noop, place := rawRaft(b), newPlacer(b)
	var singles, batches []float64
	for range placeRounds {
		place.fill(b, most*min(clients, 64))
		raw := perSecond(clients, noop)
		one := perSecond(clients, place.one)
		place.fill(b, most*min(clients, 64))
		many := perSecond(clients*shared, place.one)
		singles, batches = append(singles, one.perSecond/raw.perSecond), append(batches, many.perSecond/raw.perSecond)
		b.Logf("%d clients: raw %s, placements %s, %d at a time %s", clients, raw, one, shared, many)
	}
	reportAtLeast(fmt.Sprintf("placements-single-%d", clients), middle(singles), 0.6)
	reportAtLeast(fmt.Sprintf("placements-batched-%d", clients), middle(batches), 5)
}

// most is how many placements a client may make in one turn.
const most = 400

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// reportAtLeast prints a ratio that is to be large.
func reportAtLeast(name string, value, budget float64) {
	verdict := "ok"
	if value < budget {
		verdict = "over"
	}
	fmt.Fprintf(os.Stdout, "\nRATIO %s %.2f budget %.1f %s\n", name, value, budget, verdict) // nobody to tell
}

// A pace is how fast something went, and what it took of all processors.
type pace struct {
	perSecond float64
	each      time.Duration
}

func (p pace) String() string {
	return fmt.Sprintf("%.0f/s (%v of CPU each)", p.perSecond, p.each.Round(time.Microsecond))
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perSecond lets clients work for a while, and counts.
func perSecond(clients int, do func() bool) pace {
	var done atomic.Int64
	var all sync.WaitGroup
	runtime.GC()
	begun, used := time.Now(), processorTime()
	for range clients {
		all.Go(func() {
			for time.Since(begun) < placeFor && do() {
				done.Add(1)
			}
		})
	}
	all.Wait()
	n := done.Load()
	return pace{float64(n) / time.Since(begun).Seconds(), (processorTime() - used) / time.Duration(max(1, n))}
}

// ignore is a state machine that keeps nothing.
type ignore struct{}

func (ignore) Apply(*raft.Log) any                 { return nil }
func (ignore) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }
func (ignore) Restore(r io.ReadCloser) error       { return r.Close() }

func rawRaft(b *testing.B) (apply func() bool) {
	b.Helper()
	db, err := raftboltdb.NewBoltStore(b.TempDir() + "/raft.db")
	if err != nil {
		b.Fatal(err)
	}
	_, net := raft.NewInmemTransport("n1")
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.LogLevel, cfg.BatchApplyCh = "n1", "OFF", true
	cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaderLeaseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	r, err := raft.NewRaft(cfg, ignore{}, db, db, raft.NewInmemSnapshotStore(), net)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(r.Shutdown().Error(), db.Close()); err != nil {
			b.Error(err)
		}
	})
	r.BootstrapCluster(raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "n1"}}})
	for leads := false; !leads; leads = <-r.LeaderCh() {
	}
	data := make([]byte, 512)
	return func() bool {
		if err := r.Apply(data, 0).Error(); err != nil {
			b.Error(err)
			return false
		}
		return true
	}
}

// A placer places volumes of one replica that are there already, one after the other.
type placer struct {
	store     *state.Store
	node      *consensus.Node
	scheduler control.Scheduling
	made      int
	next      atomic.Int64
	one       func() bool
}

func newPlacer(b *testing.B) *placer {
	b.Helper()
	p := &placer{store: state.NewStore(state.Options{}), scheduler: control.NewScheduling()}
	_, net := raft.NewInmemTransportWithTimeout("n1", time.Second)
	var err error
	p.node, err = consensus.New(consensus.Config{
		ID: "n1", Dir: b.TempDir(), Transport: net, Store: p.store, Logger: slog.New(slog.DiscardHandler),
		OnFatal: func(err error) { b.Error(err) }, HeartbeatTimeout: 50 * time.Millisecond,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.node.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := p.node.Bootstrap(consensus.Server{ID: "n1", Addr: "n1"}); err != nil {
		b.Fatal(err)
	}
	for l := range p.node.LeaderChanges(b.Context()) {
		if l.Leading {
			break
		}
	}
	fillNodes(b, p.node)
	p.one = func() bool {
		n := int(p.next.Add(1))
		if n > p.made {
			return false
		}
		if err := placeOne(b.Context(), p.store, p.node, p.scheduler, volumeName(n-1)); err != nil {
			b.Error(err)
			return false
		}
		return true
	}
	return p
}

// fill sees to it that so many volumes wait.
func (p *placer) fill(b *testing.B, volumes int) {
	b.Helper()
	placed := min(int(p.next.Load()), p.made) // who came too late counted on
	p.next.Store(int64(placed))
	fillVolumes(b, p.node, p.made, placed+volumes)
	p.made = max(p.made, placed+volumes)
}

func volumeName(n int) string { return fmt.Sprintf("v%d", n) }

// placeOne does what the loop does for one volume.
func placeOne(ctx context.Context, store *state.Store, node *consensus.Node, s control.Scheduling, volume string) error {
	for {
		v := store.View()
		out, err := s.Decide(control.World{State: v, Latest: store.View, Now: time.Now(), Fresh: rand.Text}, volume)
		if err != nil {
			return err
		}
		if out.Txn == nil {
			time.Sleep(out.Again)
			continue
		}
		txn, err := out.Txn.Txn()
		if err != nil {
			return err
		}
		_, err = node.Propose(ctx, txn)
		out.Done(err)
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), model.ErrConflict.Error()) && !strings.Contains(err.Error(), "belongs to") {
			return err
		}
	}
}

// fillNodes makes the nodes with four volume groups each.
func fillNodes(b *testing.B, to state.Proposer) {
	b.Helper()
	build := state.NewTxn("bench", "nodes")
	ps := &model.PoolStatus{}
	ps.Name = "p"
	for i := range placeNodes {
		n := &model.Node{}
		n.Name = fmt.Sprintf("n%d", i)
		build.Put(n)
		e := model.EligibleNode{Node: n.Name, Zone: "z", NodeReady: true, AgentReady: true, DRBD: "9"}
		for j := range 4 {
			vg := fmt.Sprintf("vg%d", j)
			l := &model.LVG{Node: n.Name, VG: vg, UUID: "uuid-" + vg}
			l.Name = model.LVGName(n.Name, vg)
			c := &model.Capacity{Pool: model.PoolID{Node: n.Name, VG: l.UUID}, VGName: vg, ExtentSize: 4 << 20, Extents: 1 << 20, Percent: 100}
			c.Name = c.Pool.String()
			build.Put(l).Put(c)
			e.LVGs = append(e.LVGs, model.EligibleLVG{VG: vg, Pool: c.Pool, Ready: true})
		}
		ps.EligibleNodes = append(ps.EligibleNodes, e)
	}
	submit(b, to, build.Put(ps))
}

// fillVolumes makes volumes that wait for a place.
func fillVolumes(b *testing.B, to state.Proposer, from, until int) {
	b.Helper()
	const together = 1000
	for ; from < until; from += together {
		build := state.NewTxn("bench", "volumes")
		for i := from; i < min(from+together, until); i++ {
			for _, o := range waiting(volumeName(i)) {
				build.Put(o)
			}
		}
		submit(b, to, build)
	}
}

func waiting(name string) []model.Object {
	vol := &model.Volume{Class: "c", Devices: []model.VolumeDevice{{Size: 1 << 30}}}
	vs := &model.VolumeStatus{DRBD: "9", Configuration: &model.Configuration{Topology: model.TopologyIgnored, VolumeAccess: model.AccessAny, Pool: "p", PoolType: model.LVM}}
	r := &model.Replica{Volume: name, Type: model.Diskful}
	vol.Name, vs.Name, r.Name = name, name, model.ReplicaName(name, 0)
	return []model.Object{vol, vs, r}
}

func submit(b *testing.B, node state.Proposer, build *state.Build) {
	b.Helper()
	txn, err := build.Txn()
	if err == nil {
		_, err = node.Propose(b.Context(), txn)
	}
	if err != nil {
		b.Error(err)
	}
}
