package coordinator

import (
	"context"
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/membership"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// minimumVoters is how many must be left for a dead member to be removed by itself.
const minimumVoters = 3

// cleanUp removes, while this member leads, members that were silent for RemoveDead, one
// at a time. Silence counts from the election at the earliest.
func (m *member) cleanUp(ctx context.Context) {
	if m.RemoveDead == 0 {
		return
	}
	leading := time.Now()
	tick := time.NewTicker(m.RemoveDead / 10)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if time.Since(leading) < m.RemoveDead {
			continue
		}
		if name := m.dead(); name != "" {
			m.removeDead(ctx, name)
		}
	}
}

func (m *member) dead() string {
	all, err := m.node.Members()
	if err != nil {
		return "" // nobody is known to be dead
	}
	var seen []membership.Member
	for _, o := range all {
		seen = append(seen, membership.Member{Name: o.ID, Voter: o.Voter, Alive: time.Since(o.LastContact) < m.RemoveDead})
	}
	return membership.Dead(seen, minimumVoters)
}

func (m *member) removeDead(ctx context.Context, name string) {
	if err := m.node.Remove(ctx, name); err != nil {
		m.Log.WarnContext(ctx, "dead coordinator was not removed", "member", name, "err", err)
		return
	}
	m.Log.WarnContext(ctx, "dead coordinator removed", "member", name, "reason", "silent for "+m.RemoveDead.String())
	v := m.store.View()
	record, ok := state.Get[*model.Member](v, name)
	if !ok {
		return
	}
	txn, err := control.WithoutMember(v, record, state.NewTxn("coordinator/"+m.place.Name, "")).Txn()
	if err == nil {
		_, err = m.node.Propose(ctx, txn)
	}
	if err != nil {
		m.Log.WarnContext(ctx, "the record of a removed coordinator stays", "member", name, "err", err)
	}
}
