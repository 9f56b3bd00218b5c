package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func TestNodeRevisionFollowsWhatTheNodeMustHold(t *testing.T) {
	mesh := func(nodes ...string) *model.VolumeStatus {
		s := &model.VolumeStatus{Meta: named("db-1")}
		for i, n := range nodes {
			s.Datamesh.Members = append(s.Datamesh.Members, model.DatameshMember{ID: i, Node: n})
		}
		return s
	}
	releasing := with(reservation("r1", 1), func(r *model.Reservation) { r.State = model.Releasing })
	all := []string{"n1", "n2", "n3"}
	tests := []struct {
		name  string
		given []model.Object
		txn   state.Txn
		want  []string // of n1, n2, n3: those that are touched
	}{
		{name: "a node", txn: put(t, node("n1")), want: []string{"n1"}},
		{name: "a node's status", txn: put(t, &model.NodeStatus{Meta: named("n2")}), want: []string{"n2"}},
		{name: "a node that goes", given: []model.Object{node("n1")}, txn: remove(node("n1")), want: []string{"n1"}},
		{name: "an LVG", txn: put(t, &model.LVG{Meta: named("n3/vg0"), Node: "n3", VG: "vg0"}), want: []string{"n3"}},
		{name: "a replica", txn: put(t, replica("db-1", 0, "n1")), want: []string{"n1"}},
		{name: "a replica that moves", given: []model.Object{replica("db-1", 0, "n1")}, txn: put(t, replica("db-1", 0, "n2")), want: []string{"n1", "n2"}},
		{name: "a replica that goes", given: []model.Object{replica("db-1", 0, "n1")}, txn: remove(replica("db-1", 0, "n1")), want: []string{"n1"}},
		{name: "a replica without a node", txn: put(t, replica("db-1", 0, "")), want: nil},
		{name: "a reservation", given: []model.Object{capacity(9)}, txn: put(t, reservation("r1", 1)), want: []string{"n1"}},
		{name: "a reservation that goes", given: []model.Object{capacity(9), releasing}, txn: remove(releasing), want: []string{"n1"}},
		{name: "an attachment", txn: put(t, &model.Attachment{Meta: named("db-1/n2"), Volume: "db-1", Node: "n2"}), want: []string{"n2"}},
		{name: "an operation", txn: put(t, &model.Operation{Meta: named("op"), Node: "n2"}), want: []string{"n2"}},
		{name: "a volume: where its replicas are", given: []model.Object{replica("db-1", 0, "n1"), replica("db-1", 1, "n2"), replica("db-10", 0, "n3")}, txn: put(t, volume("db-1", "x")), want: []string{"n1", "n2"}},
		{name: "a volume: where its members are", given: []model.Object{mesh("n2", "n3")}, txn: put(t, volume("db-1", "x")), want: []string{"n2", "n3"}},
		{name: "a volume: where its reservations are still to be released", given: []model.Object{capacity(9), releasing}, txn: put(t, volume("db-1", "x")), want: []string{"n1"}},
		{name: "a volume and its replicas go together", given: []model.Object{volume("db-1", "x"), replica("db-1", 0, "n1")}, txn: remove(volume("db-1", "x"), replica("db-1", 0, "n1")), want: []string{"n1"}},
		{name: "a mesh that loses a member", given: []model.Object{mesh("n1", "n2")}, txn: put(t, mesh("n2", "n3")), want: all},
		{name: "a volume's secret", given: []model.Object{mesh("n1", "n2")}, txn: put(t, &model.Secret{Meta: named(model.VolumeSecret("db-1"))}), want: []string{"n1", "n2"}},
		{name: "the cluster", txn: put(t, &model.Cluster{Meta: named("cluster")}), want: all},
		{name: "a coordinator, whose address every order names", txn: put(t, &model.Member{Meta: named("m1")}), want: all},
		{name: "a class", given: []model.Object{volume("db-1", "x"), replica("db-1", 0, "n1")}, txn: put(t, &model.Class{Meta: named("x")}), want: nil},
		{name: "a capacity record", txn: put(t, capacity(9)), want: nil},
		{name: "a refused transaction", txn: put(t, reservation("r1", 1)), want: nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLog(t)
			for _, o := range tt.given {
				l.must(put(t, o))
			}
			l.apply(tt.txn)
			var touched []string
			for _, n := range all {
				if l.store.View().NodeRevision(n) == l.index {
					touched = append(touched, n)
				}
			}
			if diff := cmp.Diff(tt.want, touched); diff != "" {
				t.Errorf("touched (-want +got):\n%s", diff)
			}
		})
	}
}
