package state_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// with changes a copy of an object.
func with[T model.Object](o T, change func(T)) T {
	c := model.Clone(o)
	change(c)
	return c
}

func moved(plans ...string) *model.VolumeStatus {
	s := &model.VolumeStatus{Meta: named("db-1")}
	for _, p := range plans {
		s.Transitions = append(s.Transitions, model.Transition{Plan: p})
	}
	return s
}

// refusalCase is a transaction, and what is said of it.
type refusalCase struct {
	name  string
	given []model.Object
	txn   state.Txn
	want  *model.Refusal // nil: accepted
	is    error
}

func TestConstraintsRefuseWithAReason(t *testing.T) {
	token := &model.Token{Meta: named("t1"), ExpiresAt: start.Add(time.Minute)}
	redeemed := with(token, func(t *model.Token) { t.RedeemedBy = "key-a" })
	formed := with(moved(), func(s *model.VolumeStatus) { s.Formed = true })
	bootstrap := &model.Operation{Meta: named("db-1-formation-2"), Type: model.OperationCreateNewUUID, Volume: "db-1"}
	res := reservation("r1", 1)
	disk := model.ReplicaDevice{Minor: 10000, Reservation: "r1"}
	withLV := func(uid, lv string) *model.Reservation {
		return with(reservation(uid, 1), func(r *model.Reservation) { r.LVUUID = lv })
	}
	raw := func(k model.Kind, name, value string) state.Txn {
		return state.Txn{Put: []state.Put{{Key: model.Key{Kind: k, Name: name}, Value: json.RawMessage(value)}}}
	}
	tests := []refusalCase{
		{
			name:  "expect: a new object must not be there",
			given: []model.Object{node("a")},
			txn:   state.Txn{Expect: map[model.Key]uint64{node("a").Key(): 0}},
			want:  &model.Refusal{Constraint: "expect", Object: "node/a", Available: 1, Reason: "exists already"},
			is:    model.ErrExists,
		},
		{
			name:  "expect: an object changed since it was read",
			given: []model.Object{node("a")},
			txn:   state.Txn{Expect: map[model.Key]uint64{node("a").Key(): 7}},
			want:  &model.Refusal{Constraint: "expect", Object: "node/a", Asked: 7, Available: 1, Reason: "changed since it was read: revision 7 was expected, it is at 1"},
			is:    model.ErrConflict,
		},
		{
			name: "expect: an object is gone",
			txn:  state.Txn{Expect: map[model.Key]uint64{node("b").Key(): 7, node("a").Key(): 3}},
			want: &model.Refusal{Constraint: "expect", Object: "node/a", Asked: 3, Reason: "is gone: revision 3 was expected"},
			is:   model.ErrConflict,
		},
		{
			name:  "unique: a second replica of a volume on a node",
			given: []model.Object{replica("db-1", 0, "n1")},
			txn:   put(t, replica("db-1", 1, "n1")),
			want:  &model.Refusal{Constraint: "unique", Object: "replica/db-1/1", Reason: "volume db-1 has a replica on node n1 already: replica/db-1/0"},
			is:    model.ErrExists,
		},
		{
			name:  "unique: a port taken on the node",
			given: []model.Object{replica("db-1", 0, "n1")},
			txn:   put(t, replica("db-2", 0, "n1")),
			want:  &model.Refusal{Constraint: "unique", Object: "replica/db-2/0", Reason: "port 17000 on node n1 belongs to replica/db-1/0"},
			is:    model.ErrExists,
		},
		{
			name:  "unique: the same port on another node",
			given: []model.Object{replica("db-1", 0, "n1")},
			txn:   put(t, replica("db-2", 0, "n2")),
		},
		{
			name:  "unique: a minor taken on the node",
			given: []model.Object{replica("db-1", 0, "n1", model.ReplicaDevice{Minor: 10000})},
			txn:   put(t, replica("db-2", 1, "n1", model.ReplicaDevice{Minor: 10000})),
			want:  &model.Refusal{Constraint: "unique", Object: "replica/db-2/1", Reason: "minor 10000 on node n1 belongs to replica/db-1/0"},
			is:    model.ErrExists,
		},
		{
			name: "unique: one minor for two devices",
			txn:  put(t, replica("db-1", 0, "n1", model.ReplicaDevice{Minor: 10000}, model.ReplicaDevice{Number: 1, Minor: 10000})),
			want: &model.Refusal{Constraint: "unique", Object: "replica/db-1/0", Reason: "minor 10000 on node n1 belongs to replica/db-1/0"},
			is:   model.ErrExists,
		},
		{
			name:  "unique: a port handed from one replica to another",
			given: []model.Object{replica("db-1", 0, "n1")},
			txn:   put(t, replica("db-2", 0, "n1"), with(replica("db-1", 0, "n1"), func(r *model.Replica) { r.Port = 17009 })),
		},
		{
			name:  "unique: a port of a replica that goes",
			given: []model.Object{replica("db-1", 0, "n1")},
			txn:   state.Txn{Put: put(t, replica("db-2", 0, "n1")).Put, Delete: []model.Key{replica("db-1", 0, "n1").Key()}},
		},
		{
			name:  "unique: a logical volume in two reservations",
			given: []model.Object{capacity(10), withLV("r1", "lv-a")},
			txn:   put(t, withLV("r2", "lv-a")),
			want:  &model.Refusal{Constraint: "unique", Object: "reservation/r2", Reason: "the logical volume lv-a on node n1 belongs to reservation/r1"},
			is:    model.ErrExists,
		},
		{
			name:  "reference: a replica names a reservation that is there for it",
			given: []model.Object{capacity(10)},
			txn:   put(t, replica("db-1", 0, "n1", disk), res),
		},
		{
			name: "reference: a replica names a reservation that does not exist",
			txn:  put(t, replica("db-1", 0, "n1", disk)),
			want: &model.Refusal{Constraint: "reference", Object: "replica/db-1/0", Reason: "device 0 names reservation/r1, which does not exist"},
			is:   model.ErrConflict,
		},
		{
			name:  "reference: a replica names a reservation of another",
			given: []model.Object{capacity(10), res},
			txn:   put(t, replica("db-2", 0, "n1", disk)),
			want:  &model.Refusal{Constraint: "reference", Object: "replica/db-2/0", Reason: "device 0 names reservation/r1, which belongs to replica db-1/0"},
			is:    model.ErrConflict,
		},
		{
			name:  "reference: a reservation that a replica names goes",
			given: []model.Object{capacity(10), res, replica("db-1", 0, "n1", disk)},
			txn:   remove(res),
			want:  &model.Refusal{Constraint: "reference", Object: "replica/db-1/0", Reason: "device 0 names reservation/r1, which does not exist"},
			is:    model.ErrConflict,
		},
		{
			name:  "reference: both go together",
			given: []model.Object{capacity(10), res, replica("db-1", 0, "n1", disk)},
			txn:   remove(res, replica("db-1", 0, "n1")),
		},
		{
			name:  "serial: a second transition that moves data",
			given: []model.Object{moved("add-diskful/v1")},
			txn:   put(t, moved("add-diskful/v1", "resize/v1")),
			want: &model.Refusal{
				Constraint: "serial", Object: "volume.status/db-1", Asked: 2, Available: 1,
				Reason: `"resize/v1" would move data while "add-diskful/v1" does: one at a time per volume`,
			},
			is: model.ErrBusy,
		},
		{
			name: "serial: formation counts",
			txn: put(t, with(moved("resize/v1"), func(s *model.VolumeStatus) {
				s.Formation = &model.Transition{Plan: "formation/v1"}
			})),
			want: &model.Refusal{
				Constraint: "serial", Object: "volume.status/db-1", Asked: 2, Available: 1,
				Reason: `"resize/v1" would move data while "formation/v1" does: one at a time per volume`,
			},
			is: model.ErrBusy,
		},
		{
			name: "serial: a compatible transition beside one that moves data",
			txn: put(t, with(moved("resize/v1", "attach/v1"), func(s *model.VolumeStatus) {
				s.Transitions[1].Compatible = true
			})),
		},
		{
			name:  "formed: taken back",
			given: []model.Object{formed},
			txn:   put(t, moved()),
			want:  &model.Refusal{Constraint: "formed", Object: "volume.status/db-1", Reason: "the volume is formed, and stays so: formation would destroy its data"},
			is:    model.ErrForbidden,
		},
		{
			name:  "formed: formation begun again",
			given: []model.Object{formed},
			txn:   put(t, with(formed, func(s *model.VolumeStatus) { s.Formation = &model.Transition{Plan: "formation/v1"} })),
			want:  &model.Refusal{Constraint: "formed", Object: "volume.status/db-1", Reason: "the volume is formed, and stays so: formation would destroy its data"},
			is:    model.ErrForbidden,
		},
		{
			name:  "formed: another first data generation",
			given: []model.Object{formed},
			txn:   put(t, bootstrap),
			want:  &model.Refusal{Constraint: "formed", Object: "operation/db-1-formation-2", Reason: "volume db-1 is formed: a first data generation would destroy its data"},
			is:    model.ErrForbidden,
		},
		{
			name:  "formed: the result of the operation that formed it",
			given: []model.Object{bootstrap},
			txn:   put(t, formed, with(bootstrap, func(o *model.Operation) { o.Phase = model.OperationSucceeded })),
		},
		{
			name:  "formed: the volume goes",
			given: []model.Object{formed},
			txn:   state.Txn{Delete: []model.Key{formed.Key()}},
		},
		{
			name:  "token: redeemed in time",
			given: []model.Object{token},
			txn:   put(t, redeemed),
		},
		{
			name:  "token: redeemed again by the same key",
			given: []model.Object{redeemed},
			txn:   put(t, redeemed),
		},
		{
			name:  "token: redeemed by another key",
			given: []model.Object{redeemed},
			txn:   put(t, with(token, func(t *model.Token) { t.RedeemedBy = "key-b" })),
			want:  &model.Refusal{Constraint: "token", Object: "token/t1", Reason: "was used by another already: make a new one"},
			is:    model.ErrForbidden,
		},
		{
			name:  "token: freed again",
			given: []model.Object{redeemed},
			txn:   put(t, token),
			want:  &model.Refusal{Constraint: "token", Object: "token/t1", Reason: "was used by another already: make a new one"},
			is:    model.ErrForbidden,
		},
		{
			name:  "token: lapsed, and not saved by a later date in the same change",
			given: []model.Object{with(token, func(t *model.Token) { t.ExpiresAt = start })},
			txn:   put(t, redeemed),
			want:  &model.Refusal{Constraint: "token", Object: "token/t1", Reason: "lapsed at 2026-01-02 03:04:05 UTC: make a new one"},
			is:    model.ErrForbidden,
		},
		{
			name: "format: a member does not serve it",
			given: []model.Object{
				&model.Cluster{Meta: named("cluster"), Format: 1},
				&model.Member{Meta: named("c1"), Formats: [2]int{1, 2}}, &model.Member{Meta: named("c2"), Formats: [2]int{1, 1}},
			},
			txn: put(t, &model.Cluster{Meta: named("cluster"), Format: 2}),
			want: &model.Refusal{
				Constraint: "format", Object: "member/c2", Asked: 2, Available: 1,
				Reason: "serves formats 1 to 1, not 2: install a newer version there first",
			},
			is: model.ErrInvalid,
		},
		{
			name: "decode: a kind that is not known",
			txn:  raw("flux", "x", `{"name":"x"}`),
			want: &model.Refusal{Constraint: "decode", Object: "flux/x", Reason: "decode flux: this binary does not know that kind"},
			is:   model.ErrInvalid,
		},
		{
			name: "decode: an object that calls itself something else",
			txn:  raw(model.KindNode, "a", `{"name":"b"}`),
			want: &model.Refusal{Constraint: "decode", Object: "node/a", Reason: "the object calls itself node/b"},
			is:   model.ErrInvalid,
		},
		{
			name: "decode: nothing at all",
			txn:  raw(model.KindNode, "a", `null`),
			want: &model.Refusal{Constraint: "decode", Object: "node/a", Reason: "the object calls itself node/"},
			is:   model.ErrInvalid,
		},
		{
			name: "decode: a replica whose name is not what it holds",
			txn:  raw(model.KindReplica, "db-1/0", `{"name":"db-1/0","volume":"db-2"}`),
			want: &model.Refusal{Constraint: "decode", Object: "replica/db-1/0", Reason: `its name must be "db-2/0", from what it holds`},
			is:   model.ErrInvalid,
		},
		{
			name: "decode: an object named twice",
			txn:  put(t, node("a"), node("a")),
			want: &model.Refusal{Constraint: "decode", Object: "node/a", Reason: "the transaction names it twice"},
			is:   model.ErrInvalid,
		},
		{
			name: "decode: a NUL that could forge an index key",
			txn:  put(t, &model.Operation{Meta: named("o1"), Node: "n1\x00o0"}),
			want: &model.Refusal{Constraint: "decode", Object: "operation/o1", Reason: "it holds a NUL character"},
			is:   model.ErrInvalid,
		},
		{
			name:  "decode: a negative charge that would make room",
			given: []model.Object{capacity(1)},
			txn:   put(t, reservation("r1", -5)),
			want: &model.Refusal{
				Constraint: "decode", Object: "reservation/r1",
				Reason: "granted -5368709120, pending 0, observed 0 bytes: each must be 0 to 2251799813685248",
			},
			is: model.ErrInvalid,
		},
	}
	for _, tt := range slices.Concat(tests, capacityCases(t), quotaCases(t)) {
		t.Run(tt.name, func(t *testing.T) {
			l := newLog(t)
			for _, o := range tt.given {
				l.must(put(t, o))
			}
			before := l.store.View()
			got := l.apply(tt.txn)[0]
			if diff := cmp.Diff(tt.want, got.Refusal); diff != "" {
				t.Fatalf("refusal (-want +got):\n%s", diff)
			}
			if tt.want == nil {
				return
			}
			if !errors.Is(got.Err(), tt.is) {
				t.Errorf("%v is not %v", got.Err(), tt.is)
			}
			if diff := cmp.Diff(contents(before), contents(l.store.View())); diff != "" {
				t.Errorf("a refused transaction changed something (-before +after):\n%s", diff)
			}
		})
	}
}

// contents are all objects of a view, as stored.
func contents(v state.View) map[string]string {
	all := map[string]string{}
	for o := range v.Objects() {
		all[o.Key().String()] = string(model.Raw(o))
	}
	return all
}

func TestARefusalRefusesOnlyItsOwnTransaction(t *testing.T) {
	l := newLog(t)
	l.must(put(t, capacity(10)))
	results := l.apply(put(t, reservation("r1", 6)), put(t, reservation("r2", 6)), put(t, reservation("r3", 4)))
	var accepted []bool
	for _, r := range results {
		accepted = append(accepted, r.Err() == nil)
	}
	if diff := cmp.Diff([]bool{true, false, true}, accepted); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	if got := l.store.View().Charged(vg0); got != 10*gib {
		t.Errorf("charged %d bytes, want %d", got, 10*gib)
	}
}
