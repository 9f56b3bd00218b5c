package consensus

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Recovery is what the disk of a member that does not run holds.
type Recovery struct {
	State     state.View
	LastIndex uint64 // of the newest entry, committed or not
	LastTerm  uint64
	Snapshot  uint64   // index of the newest snapshot; 0: none
	Members   []Server // as far as its log says
}

// offline is the stores of a member that does not run.
type offline struct {
	cfg    Config
	stores *Stores
	store  *state.Store
	fsm    *fsm
	seen   Recovery
}

// Recover makes one member the whole cluster, when the majority is lost for good. It reads
// everything that its disk holds, shows it to decide, and, when that returns a
// transaction, puts it behind the log and leaves the member as the only one. It must not
// run, and neither may any of the others ever again with what they have. Repeated after a
// crash it begins anew.
func Recover(cfg Config, decide func(Recovery) (state.Txn, error)) error {
	cfg.OnFatal = func(error) {}
	cfg.setDefaults()
	o := &offline{cfg: cfg}
	var err error
	if o.stores, err = openStores(cfg, &guard{onFatal: cfg.OnFatal}); err != nil {
		return fmt.Errorf("recover %s: %w", cfg.ID, err)
	}
	err = notPanicking(func() error {
		if err := o.read(); err != nil {
			return err
		}
		txn, err := decide(o.seen)
		if err != nil {
			return err
		}
		return o.write(txn)
	})
	if err = errors.Join(err, o.stores.close()); err != nil {
		return fmt.Errorf("recover %s: %w", cfg.ID, err)
	}
	return nil
}

// fresh forgets what was read: what is on disk is read again.
func (o *offline) fresh() {
	o.store = state.NewStore(state.Options{})
	o.fsm = &fsm{store: o.store, guard: &guard{onFatal: func(error) {}}}
}

// read follows the newest snapshot and the whole log.
func (o *offline) read() error {
	o.fresh()
	snapshots, err := o.stores.Snapshots.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	if len(snapshots) > 0 {
		meta, source, err := o.stores.Snapshots.Open(snapshots[0].ID)
		if err != nil {
			return fmt.Errorf("open the newest snapshot: %w", err)
		}
		if err := o.fsm.Restore(source); err != nil {
			return err
		}
		o.seen.Snapshot, o.seen.LastIndex, o.seen.LastTerm = meta.Index, meta.Index, meta.Term
		o.seen.Members = serversOf(meta.Configuration)
	}
	last, err := o.stores.Log.LastIndex()
	if err != nil {
		return fmt.Errorf("find the end of the log: %w", err)
	}
	for i := o.seen.Snapshot + 1; i <= last; i++ {
		var l raft.Log
		if err := o.stores.Log.GetLog(i, &l); err != nil {
			return fmt.Errorf("read log entry %d: %w", i, err)
		}
		if err := o.follow(&l); err != nil {
			return err
		}
	}
	if o.seen.LastIndex == 0 {
		return fmt.Errorf("%w: there is nothing in %s", model.ErrNotFound, o.cfg.Dir)
	}
	o.seen.State = o.store.View()
	return nil
}

func (o *offline) follow(l *raft.Log) error {
	o.seen.LastIndex, o.seen.LastTerm = l.Index, l.Term
	switch l.Type {
	case raft.LogCommand:
		if err, failed := o.fsm.Apply(l).(error); failed {
			return err
		}
	case raft.LogConfiguration:
		o.seen.Members = serversOf(raft.DecodeConfiguration(l.Data))
	default: // Raft's own: barriers and the first word of each leader
	}
	return nil
}

func serversOf(c raft.Configuration) []Server {
	var all []Server
	for _, s := range c.Servers {
		all = append(all, Server{ID: string(s.ID), Addr: string(s.Address)})
	}
	return all
}

// write puts the transaction behind the log, and the member alone into the cluster.
func (o *offline) write(txn state.Txn) error {
	i := slices.IndexFunc(o.seen.Members, func(s Server) bool { return s.ID == o.cfg.ID })
	if i < 0 {
		return fmt.Errorf("%w: its log does not say that %s is a member: has it been removed?", model.ErrInvalid, o.cfg.ID)
	}
	own := o.seen.Members[i]
	b, err := state.EncodeTxn(txn)
	if err != nil {
		return err
	}
	entry := state.EncodeEntry(time.Now(), b)
	l := &raft.Log{Index: o.seen.LastIndex + 1, Term: o.seen.LastTerm, Type: raft.LogCommand, Data: entry, AppendedAt: time.Now()}
	results, err := o.store.Apply(l.Index, entry)
	if err != nil {
		return err
	}
	if err := results[0].Err(); err != nil {
		return fmt.Errorf("%s: %w", txn.Cause, err)
	}
	if err := o.stores.Log.StoreLog(l); err != nil {
		return err
	}
	o.fresh() // raft reads it all once more
	_, t := raft.NewInmemTransport(raft.ServerAddress(own.Addr))
	return raft.RecoverCluster(o.cfg.raft(), o.fsm, o.stores.Log, o.stores.Stable, o.stores.Snapshots, t, configuration([]Server{own}))
}
