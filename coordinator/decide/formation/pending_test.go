package formation

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
)

func TestWhatReplicasAskOfTheMesh(t *testing.T) {
	t.Parallel()
	rep := func(id int, typ model.ReplicaType, change func(*model.Replica)) *model.Replica {
		r := &model.Replica{ID: id, Type: typ, Node: fmt.Sprintf("n%d", id)}
		change(r)
		return r
	}
	as := func(*model.Replica) {}
	members := []model.DatameshMember{{ID: 1, Type: model.Diskful}, {ID: 2, Type: model.Diskful}, {ID: 3, Type: model.Access}}
	replicas := []*model.Replica{
		rep(5, model.TieBreaker, as),
		rep(4, model.Diskful, func(r *model.Replica) { r.Node = "" }),
		rep(3, model.Diskful, as),
		rep(2, model.Diskful, func(r *model.Replica) { r.DeletingSince = now }),
		rep(1, model.Diskful, as),
		rep(0, model.Diskful, func(r *model.Replica) { r.DeletingSince = now }),
	}
	before := now.Add(-time.Hour)
	old := []model.PendingReplicaTransition{
		{ID: 0, Request: Join, Type: model.Diskful, FirstObservedAt: before},  // it is going, and never was a member
		{ID: 2, Request: Leave, Type: model.Diskful, FirstObservedAt: before}, // asks it still
		{ID: 5, Request: Join, Type: model.Diskful, FirstObservedAt: before},  // asks for something else now
		{ID: 9, Request: Join, Type: model.Diskful, FirstObservedAt: before},  // is gone
	}
	want := []model.PendingReplicaTransition{
		{ID: 2, Request: Leave, Type: model.Diskful, FirstObservedAt: before},
		{ID: 3, Request: ChangeType, Type: model.Diskful, FirstObservedAt: now},
		{ID: 5, Request: Join, Type: model.TieBreaker, FirstObservedAt: now},
	}
	if diff := cmp.Diff(want, Pending(old, members, replicas, now)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
