package consensus_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// disk is a member's stores, with a fault that may be switched on.
type disk struct {
	raft.LogStore
	raft.StableStore
	raft.SnapshotStore

	mu    sync.Mutex
	fault string // the operation that fails from now on
	calls int    // of any write after the first that failed
}

func (d *disk) try(op string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls > 0 {
		d.calls++
	}
	if op != d.fault {
		return nil
	}
	if d.calls == 0 {
		d.calls = 1
	}
	return &fault{op, syscall.EIO}
}

type fault struct {
	op  string
	err error
}

func (f *fault) Error() string { return f.op + ": " + f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

func (d *disk) breaks(op string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = op
}

func (d *disk) writesAfterTheFault() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls - 1
}

func (d *disk) StoreLogs(logs []*raft.Log) error {
	return errors.Join(d.try("store log"), d.LogStore.StoreLogs(logs))
}

func (d *disk) DeleteRange(low, high uint64) error {
	return errors.Join(d.try("delete log"), d.LogStore.DeleteRange(low, high))
}

func (d *disk) Set(key, value []byte) error {
	return errors.Join(d.try("store "+string(key)), d.StableStore.Set(key, value))
}

//nolint:revive // argument-limit: this is Raft's interface
func (d *disk) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, ci uint64, t raft.Transport) (raft.SnapshotSink, error) {
	if err := d.try("create snapshot"); err != nil {
		return nil, err
	}
	sink, err := d.SnapshotStore.Create(v, index, term, c, ci, t)
	return &faultySink{sink, d}, err
}

type faultySink struct {
	raft.SnapshotSink
	disk *disk
}

func (s *faultySink) Write(b []byte) (int, error) {
	if err := s.disk.try("write snapshot"); err != nil {
		return 0, err
	}
	return s.SnapshotSink.Write(b)
}

func (s *faultySink) Close() error {
	return errors.Join(s.disk.try("close snapshot"), s.SnapshotSink.Close())
}

// TestAMemberWhoseDiskFailsAcknowledgesNothingMore breaks the disk of the leader, and of
// a follower, in every way that Raft writes. What was stored before the error was told
// does not matter: the error alone must end the member.
func TestAMemberWhoseDiskFailsAcknowledgesNothingMore(t *testing.T) {
	for _, op := range []string{"store log", "store CurrentTerm", "store LastVoteCand", "delete log", "create snapshot", "write snapshot", "close snapshot"} {
		for _, who := range []string{"leader", "follower"} {
			t.Run(op+" of the "+who, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { breakDisk(t, op, who) })
			})
		}
	}
}

func breakDisk(t *testing.T, op, who string) { //nolint:thelper // it is the test
	disks := map[string]*disk{}
	c := start(t, 3, 0, func(cfg *consensus.Config) {
		d := &disk{LogStore: cfg.Stores.Log, StableStore: cfg.Stores.Stable, SnapshotStore: cfg.Stores.Snapshots}
		disks[cfg.ID] = d
		cfg.Stores = &consensus.Stores{Log: d, Stable: d, Snapshots: d}
		cfg.SnapshotThreshold, cfg.SnapshotInterval, cfg.TrailingLogs = 20, time.Second, 10
	})
	leader := c.leader()
	broken := leader
	for _, m := range c.members {
		if who == "follower" && m != leader {
			broken = m
		}
	}
	acked := []string{}
	write := func(m *member, name string) {
		if _, err := m.Propose(t.Context(), put(name, "")); err == nil {
			acked = append(acked, name)
		}
	}
	write(leader, "before")
	disks[broken.id].breaks(op)
	if op == "store CurrentTerm" || op == "store LastVoteCand" {
		c.elections(broken)
	}
	for i := range 100 {
		write(leader, fmt.Sprint("during", i))
	}
	time.Sleep(10 * time.Second)
	select {
	case err := <-broken.fatal:
		if !errors.Is(err, model.ErrStopped) || !strings.Contains(err.Error(), op+": input/output error") {
			t.Errorf("it ended with %v", err)
		}
	default:
		t.Fatal("the disk failed and the member goes on")
	}
	for range 10 {
		if _, err := broken.Propose(t.Context(), put("after", "")); !errors.Is(err, model.ErrStopped) {
			t.Errorf("after its disk failed the member answers %v", err)
		}
		if _, err := broken.ConsistentRead(t.Context()); !errors.Is(err, model.ErrStopped) {
			t.Errorf("after its disk failed the member reads %v", err)
		}
	}
	if n := disks[broken.id].writesAfterTheFault(); n > 0 {
		t.Errorf("%d writes reached the disk after it had failed", n)
	}
	if !errors.Is(broken.Stats().Failed, model.ErrStopped) {
		t.Error("its status does not say that it stopped")
	}
	c.stop(broken.id)
	c.heal()
	v := c.leader().store.View()
	for _, name := range acked {
		if _, ok := state.Get[*model.Node](v, name); !ok {
			t.Errorf("%s was acknowledged and is lost", name)
		}
	}
	c.agree()
}

// elections has one leader after the other voted out until m, which must vote, stops.
func (c *cluster) elections(m *member) {
	c.t.Helper()
	for range 5 {
		for _, other := range c.members {
			if other.Stats().State == "Leader" {
				c.isolate(other.id)
				break
			}
		}
		time.Sleep(5 * time.Second)
		if len(m.fatal) > 0 {
			return
		}
		c.heal()
	}
}

func TestALogThatHoldsTheUnknownEndsTheMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 1, 0)
		m := c.leader()
		txn, _ := state.NewTxn("test", "raise the format").Put(&model.Cluster{Meta: model.Meta{Name: "cluster"}, Format: 99}).Txn()
		done := make(chan error)
		go func() {
			_, err := m.Propose(t.Context(), txn)
			done <- err
		}()
		want := "state format 99 is in force"
		if err := <-m.fatal; !errors.Is(err, model.ErrStopped) || !strings.Contains(err.Error(), want) {
			t.Errorf("it ended with %v, want %q", err, want)
		}
		c.stop(m.id)
		if err := <-done; !errors.Is(err, model.ErrUnknown) {
			t.Errorf("the one who proposed it was told %v", err)
		}
	})
}

func TestAFullDiskRefusesChangesAndAnswersReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		free := int64(1 << 40)
		c := start(t, 1, 0, func(cfg *consensus.Config) {
			cfg.Free = func() (consensus.Space, error) {
				mu.Lock()
				defer mu.Unlock()
				return consensus.Space{Free: free, Total: 1 << 40}, nil
			}
		})
		set := func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			free = n
		}
		m := c.leader()
		c.propose(m, put("a", ""))
		set(500 << 20)
		_, err := m.Propose(t.Context(), put("b", ""))
		want := "set b: no space: the file system of /disk/of/n1 has 500 MiB free, changes are refused below 512 MiB: make room there"
		if !errors.Is(err, model.ErrNoSpace) || err.Error() != want {
			t.Errorf("propose with a full disk:\n%v\nwant\n%s", err, want)
		}
		if _, err := m.ConsistentRead(t.Context()); err != nil {
			t.Errorf("read with a full disk: %v", err)
		}
		set(1 << 30)
		c.propose(m, put("b", ""))
		err = m.Restore(t.Context(), consensus.Snapshot{Size: 600 << 20, Data: iotest.ErrReader(errors.New("nobody reads it"))})
		want = "restore: no space: the file system of /disk/of/n1 has 1024 MiB free, and 600 MiB more would leave less than the 512 MiB that are kept: make room there"
		if !errors.Is(err, model.ErrNoSpace) || err.Error() != want {
			t.Errorf("restore with a disk that would be full:\n%v\nwant\n%s", err, want)
		}
		c.propose(m, put("c", ""))
	})
}

func TestADamagedLogIsNotStartedFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 1, 0)
		for i := range 10 {
			c.propose(c.leader(), put(fmt.Sprint(i), ""))
		}
		c.stop("n1")
		m := c.members["n1"]
		var l raft.Log
		if err := m.stores.Log.GetLog(5, &l); err != nil {
			t.Fatal(err)
		}
		l.Data[len(l.Data)-3] ^= 1
		if err := m.stores.Log.StoreLog(&l); err != nil {
			t.Fatal(err)
		}
		_, err := consensus.New(consensus.Config{
			ID: "n1", Transport: m.net, Store: state.NewStore(state.Options{}), Stores: m.stores,
			Logger: slog.New(slog.DiscardHandler), OnFatal: func(error) {},
		})
		for _, want := range []string{"start member n1: the log is damaged: entry 5: its checksum is", "let it join again with an empty directory"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("start from a damaged log: %v, want %q", err, want)
			}
		}
	})
}
