package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/compare"
	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// leftovers lists what was deleted while its node was away.
func (s *orphans) leftovers(v state.View) []orphan {
	var out []orphan
	for n := range state.All[*model.NodeStatus](v) {
		in, _ := control.Leftovers(v, n.Name)
		next := s.Leftovers.Next(in)
		for _, r := range in.Reservations {
			if r.Leftover != "" {
				out = append(out, leftoverOf(v, r, next))
			}
		}
	}
	return out
}

func leftoverOf(v state.View, r *model.Reservation, next string) orphan {
	volume, _ := compare.VolumeOfLV(r.LV)
	o := &adminv1.Orphan{
		Meta: &adminv1.Meta{Name: r.Pool.Node + "/" + r.VGName + "/" + r.LV}, Node: r.Pool.Node, Kind: "lv", Volume: volume,
		Size: max(r.Granted, r.Observed), LvUuid: r.LVUUID, Reservation: r.Name, Leftover: true,
	}
	if replica, ok := state.Get[*model.Replica](v, r.Owner); ok && replica.Deleting() {
		o.Since = timestamp(replica.DeletingSince)
	}
	switch {
	case r.Leftover == model.LeftoverGranted:
		o.State, o.Why = "removing", "its node removes it"
	case r.Kept:
		o.State, o.Why = "kept", "it stays until somebody says otherwise"
	default:
		o.State, o.Why = "waiting", next
	}
	return orphan{o, r}
}

// leftover is the condition of a node that has some.
func (a *api) leftover(v state.View, node string) []*adminv1.Condition {
	in, st := control.Leftovers(v, node)
	got := leftover.Decide(a.Leftovers, in)
	if st == nil || got.Waiting+got.Kept+got.Going == 0 {
		return nil
	}
	says := []string{fmt.Sprintf("of what was deleted while the node was away, %d are being removed, %d wait and %d are kept", got.Going, got.Waiting, got.Kept)}
	if next := a.Leftovers.Next(in); next != "" {
		says = append(says, next)
	}
	return conditions([]model.Condition{{
		Type: "LeftoversRemoved", Status: model.False, Reason: "Waiting", Message: strings.Join(append(says, "`rvol orphan list --node "+node+"` lists them"), "; "),
	}})
}

// RemoveLeftovers lets what was shown of a node go at once. What is no longer there, or goes already, is not waited for.
func (s *orphans) RemoveLeftovers(ctx context.Context, r *adminv1.RemoveLeftoversRequest) (*adminv1.Done, error) {
	key := model.Key{Kind: model.KindNode, Name: r.GetNode()}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	n := 0
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		var list []*model.Reservation
		for _, o := range s.all() {
			if o.GetState() == "waiting" && o.GetNode() == r.GetNode() && slices.Contains(r.GetNames(), o.GetMeta().GetName()) {
				list = append(list, o.record)
			}
		}
		if n = len(list); n == 0 {
			return nil, door.Refuse(model.ErrNotFound, key, "nothing that was named waits to be removed there", "see `rvol orphan list --node "+r.GetNode()+"`")
		}
		return s.letGo(v, b, r.GetNode(), list...)
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: fmt.Sprintf("leftovers that are removed at once: %d", n)}, nil
}

// letGo lets leftovers go at an operator's word. They count: nothing more goes by itself in the same period.
func (s *orphans) letGo(v state.View, b *state.Build, node string, list ...*model.Reservation) (*state.Build, error) {
	in, st := control.Leftovers(v, node)
	if st == nil {
		return nil, door.NotFound(model.Key{Kind: model.KindNode, Name: node})
	}
	granted := leftover.Decide(s.Leftovers, in).Going
	if in.Newest != nil {
		granted = max(granted, in.Newest.Granted)
	}
	b.Because(fmt.Sprintf("node %s: remove %d leftovers at once: %s", node, len(list), control.LVsOf(list)))
	return control.LetGo(b, st, list, granted+len(list), s.Clock()), nil
}
