package admin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

func TestAClassIsExplainedInWordsAndNumbers(t *testing.T) {
	w := newWorld(t)
	w.class("n1", "n2")
	w.formed("db-1")
	c, _ := get[*model.Class](w, "r2")
	c = model.Clone(c)
	c.GMDR, c.Generation, c.Rollout, c.Conflict = 1, 2, "RollingUpdate", "Manual"
	ps, _ := get[*model.PoolStatus](w, "p")
	ps = model.Clone(ps)
	ps.UsedBy = []string{"other", "r2"}
	for i := range ps.EligibleNodes {
		ps.EligibleNodes[i].DRBD, ps.EligibleNodes[i].Zone = "9", "z1"
	}
	ps.EligibleNodes[1].LVGs[0].Ready = false
	vs, _ := get[*model.VolumeStatus](w, "db-1")
	vs = model.Clone(vs)
	vs.Conditions = model.Conditions{{Type: "ConfigurationReady", Status: model.False}}
	w.put(c, ps, vs)
	got, err := (&classes{api: w.api}).Explain(w.ctx, &adminv1.ExplainRequest{Name: "r2"})
	if err != nil {
		t.Fatal(err)
	}
	got.Class = nil
	want := &adminv1.ClassExplanation{
		Diskful: 3, Quorum: 2, QuorumMinimumRedundancy: 2,
		Copies:  "3 copies on 3 nodes, in any zones.",
		Access:  "Any 1 node may fail and the volume stays usable.",
		Data:    "A write is confirmed only while at least 2 copies are up to date, so any 1 copy may be lost without losing data.",
		Storage: "Pool p, which an operator made, shared with class other.",
		Verdict: "FTT=1, GMDR=1 (3D): requires at least 3 nodes, have 2 (1 missing) and requires at least 3 nodes with disks, have 2 (1 missing)",
		Zones:   []*adminv1.ZoneNodes{{Zone: "z1", Nodes: 2, WithStorage: 2, Ready: 1}},
		InForce: "Until the nodes can hold generation 2, volumes get generation 1: FTT 1, GMDR 0 (2D+1TB).",
		Rollout: &adminv1.Rollout{Strategy: "RollingUpdate", MaxParallel: 5, Next: []string{"db-1"}, Message: "5 at a time; next db-1"},
		Repair:  &adminv1.Rollout{Strategy: "Manual", MaxParallel: 5, Message: "nothing to do"},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestAClassWithoutItsPoolIsExplained(t *testing.T) {
	w := newWorld(t)
	s := &classes{api: w.api}
	if _, err := s.Create(w.ctx, &adminv1.Class{Meta: named("tz"), Ftt: 1, Topology: "TransZonal", Storage: lvmOn("vg0")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Explain(w.ctx, &adminv1.ExplainRequest{Name: "tz"})
	if err != nil || got.GetFits() || !strings.Contains(got.GetVerdict(), "does not exist") || got.GetLeastZones() != 3 ||
		!strings.Contains(got.GetCopies(), "spread over 3 zones or more") || !strings.Contains(got.GetStorage(), "made from LVM vg0 of this class") {
		t.Errorf("%v, %v", got, err)
	}
	_, err = s.Explain(w.ctx, &adminv1.ExplainRequest{Name: "none"})
	refused(t, err, model.ErrNotFound, "class none")
}

func TestWhyANodeIsInAPoolOrNot(t *testing.T) {
	w := newWorld(t)
	w.class("n1", "n2")
	p, _ := get[*model.Pool](w, "p")
	p = model.Clone(p)
	p.Zones = []string{"z1"}
	w.put(p)
	for name, zone := range map[string]string{"n1": "z1", "n2": "z1", "n3": "z3", "n4": "z1"} {
		w.node(name)
		n, _ := get[*model.Node](w, name)
		n = model.Clone(n)
		n.Zone, n.Unschedulable = zone, name == "n2"
		w.put(n)
	}
	w.offer("n1", "vg0", 100)
	ps, _ := get[*model.PoolStatus](w, "p")
	ps = model.Clone(ps)
	ps.EligibleNodes[1].Unschedulable = true
	away := &model.NodeStatus{Reason: "no heartbeat"}
	away.Name = "n4"
	w.put(ps, away)
	got, err := (&pools{api: w.api}).Explain(w.ctx, &adminv1.ExplainRequest{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	want := []*adminv1.NodeVerdict{
		{Node: "n1", Eligible: true, Lvgs: []*adminv1.LVGVerdict{{Vg: "vg0", Ready: true}}},
		{
			Node: "n2", Eligible: true, Reason: "cordoned, fenced or being deleted; nothing new is placed there",
			Lvgs: []*adminv1.LVGVerdict{{Vg: "vg0", Ready: true, Reason: "it is not offered any more"}},
		},
		{Node: "n3", Zone: "z3", Reason: `zone "z3" is not one of z1`},
		{Node: "n4", Zone: "z1", Reason: "NotReady for longer than 0s"},
	}
	if diff := cmp.Diff(want, got.GetNodes(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
