package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"rvol/coordinator/consensus"
	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// lead follows who leads, and runs the controllers while this member does.
func (m *member) lead(ctx context.Context) {
	term, stop := uint64(0), func() {}
	for l := range m.node.LeaderChanges(ctx) {
		if l.Leading && l.Term == term {
			m.leadership.set(l)
			continue
		}
		// Doors close before the controllers stop, and open after the inventory is empty.
		m.leadership.set(consensus.Leadership{Term: l.Term, Leader: l.Leader})
		stop()
		term, stop = 0, func() {}
		m.say(l)
		if l.Leading {
			m.inventory.Reset()
			term, stop = l.Term, m.decide(ctx)
			m.leadership.set(l)
		}
	}
	m.leadership.set(consensus.Leadership{})
	stop()
}

func (m *member) say(l consensus.Leadership) {
	status := "following " + l.Leader
	switch {
	case l.Leading:
		status = "leading"
	case l.Leader == "":
		status = "no leader: there is no majority of coordinators, or they are electing"
	}
	m.Log.Info("leadership changed", "leader", l.Leader, "term", l.Term)
	m.Notify("STATUS=" + status)
}

// decide starts the controllers; stop waits for them to end.
func (m *member) decide(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if !m.beBorn(ctx) {
			return
		}
		for ctx.Err() == nil {
			m.control(ctx)
		}
	})
	wg.Go(func() { m.cleanUp(ctx) })
	wg.Go(func() { m.askSilent(ctx) })
	return func() { cancel(); wg.Wait() }
}

// control runs the controllers until ctx ends or the state is replaced as a whole: then
// they know nothing, and begin anew.
func (m *member) control(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer m.store.Watch(func(_ uint64, keys []model.Key) {
		if keys == nil {
			cancel()
		}
	})()
	control.Run(ctx, control.Sources{
		Store: m.store, Inventory: m.inventory, Proposer: m.proposer, Log: m.Log, Meter: m.metrics.Controllers(), Clock: m.Clock,
	}, m.controllers()...)
}

func (m *member) controllers() []control.Controller {
	return []control.Controller{
		control.Node{NotReadyAfter: m.NotReadyAfter, Interval: m.Heartbeat},
		control.Capacity{},
		control.Pool{},
		control.Class{},
		control.Rollout{},
		control.NewScheduling(),
		control.Volume{},
		control.Transition{MaxResyncs: m.MaxResyncs},
		control.Repair{Limits: m.Repairs},
		control.NewResync(),
		control.Attachment{},
		control.Verification{},
		control.Release{},
		control.Leftover{Limits: m.Leftovers},
		control.Format{},
	}
}

// beBorn proposes the first entry of a new cluster, when this member has it and the state
// is empty. It reports false when ctx ended first.
func (m *member) beBorn(ctx context.Context) bool {
	for {
		err := m.propose(ctx)
		if err == nil {
			return true
		}
		m.Log.WarnContext(ctx, "first entry was not taken", "err", err)
		wait := time.NewTimer(time.Second)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return false
		}
	}
}

func (m *member) propose(ctx context.Context) error {
	txn, born, err := loadBirth(m.Dir)
	if err != nil || !born {
		return err
	}
	if _, ok := state.Get[*model.Cluster](m.store.View(), model.ClusterName); !ok {
		if _, err := m.node.Propose(ctx, txn); err != nil {
			return err
		}
		m.Log.InfoContext(ctx, "cluster made", "cause", txn.Cause)
	}
	if err := os.Remove(birthFile(m.Dir)); err != nil {
		return fmt.Errorf("remove the first entry, which is in force: %w", err)
	}
	return nil
}

// loadBirth reads the first entry of a new cluster; born is false when there is none left.
func loadBirth(dir string) (txn state.Txn, born bool, err error) {
	b, err := identity.ReadPrivateFile(birthFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return txn, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &txn)
	}
	if err != nil {
		return txn, false, fmt.Errorf("read %s: %w", birthFile(dir), err)
	}
	return txn, true, nil
}
