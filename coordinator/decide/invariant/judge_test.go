package invariant_test

import (
	"slices"
	"strings"
	"testing"

	"rvol/coordinator/decide/compare"
	"rvol/coordinator/decide/formation"
	"rvol/coordinator/decide/invariant"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// sound is a volume with two copies, their ledgers, and agents that agree.
func sound() invariant.Input {
	in := invariant.Input{Index: 20, Searched: 3}
	in.Cluster = &model.Cluster{ID: "lab", Incarnation: 1}
	vol := &model.Volume{}
	vol.Name = "db-1"
	v := compare.Volume{Volume: vol, Status: &model.VolumeStatus{Formed: true, DRBD: "9"}}
	for id, node := range []string{"n1", "n2"} {
		r := &model.Replica{Volume: "db-1", ID: id, Type: model.Diskful, Node: node, Port: 17000, Devices: []model.ReplicaDevice{{Minor: 10000}}}
		r.Name, r.UID = model.ReplicaName("db-1", id), "uid-"+node
		v.Replicas = append(v.Replicas, r)
		pool := model.PoolID{Node: node, VG: "vg-" + node}
		res := &model.Reservation{OwnerKind: model.OwnerReplica, Owner: r.Name, Pool: pool, VGName: "vg0", LV: model.LVName("db-1", 0, id), LVUUID: "lv-" + node, Granted: 4096, State: model.Bound}
		res.Name = "res-" + node
		in.Reservations = append(in.Reservations, res)
		record := &model.Capacity{Pool: pool, VGName: "vg0", ExtentSize: 4096, Extents: 4, Percent: 100}
		record.Name = pool.String()
		in.Pools = append(in.Pools, invariant.Pool{Capacity: record, Charged: 4096})
		in.Nodes = append(in.Nodes, compare.Node{Name: node, Seen: &inventory.Node{
			Name: node, Connected: true, Full: true, Accepted: inventory.Order{Incarnation: 1, Index: 15},
			VGs:       []inventory.VG{{Name: "vg0", UUID: "vg-" + node, LVs: []inventory.LV{{Name: res.LV, UUID: res.LVUUID, Size: 4096, Reservation: res.Name, Cluster: "lab"}}}},
			Resources: []inventory.Resource{{Name: "rvol-db-1", Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.UpToDate}}}},
		}})
	}
	in.Volumes = []compare.Volume{v}
	return in
}

func TestEachPromiseThatIsBrokenIsFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id, says string
		spoil    func(in *invariant.Input)
	}{
		{"I1", "limit is 0", func(in *invariant.Input) { in.Pools[0].Extents = 0 }},
		{"I2", "the ledger says 1", func(in *invariant.Input) { in.Pools[0].Charged = 1 }},
		{"I2", "port 17000 of node n1", func(in *invariant.Input) { in.Volumes[0].Replicas[1].Node = "n1" }},
		{"I2", "id 0 of volume db-1", func(in *invariant.Input) { in.Volumes[0].Replicas[1].ID = 0 }},
		{"I2", "minor 10000 of node n1", func(in *invariant.Input) {
			in.Volumes[0].Replicas[1].Node, in.Volumes[0].Replicas[1].Port = "n1", 17001
		}},
		{"I2", "volume db-1 on node n1", func(in *invariant.Input) { in.Volumes[0].Replicas[1].Node = "n1" }},
		{"I3", "is not in vg0", func(in *invariant.Input) { in.Nodes[0].Seen.VGs[0].LVs = nil }},
		{"I3", "the LV has 1 bytes", func(in *invariant.Input) { in.Nodes[0].Seen.VGs[0].LVs[0].Size = 1 }},
		{"I4", "Primary on [n1 n2]", func(in *invariant.Input) {
			for _, n := range in.Nodes {
				n.Seen.Resources[0].Role = drbd.Primary
			}
		}},
		{"I5", "is being formed", func(in *invariant.Input) { in.Volumes[0].Status.Formation = &model.Transition{} }},
		{"I5", "has not formed it yet", func(in *invariant.Input) { in.Volumes[0].Status.Formed = false }},
		{"I5", "has not formed it yet", func(in *invariant.Input) { bootstrapping(in); in.Cluster.Reconciling = true }},
		{"I6", "does not carry its tags", func(in *invariant.Input) { in.Nodes[0].Seen.VGs[0].LVs[0].Reservation = "" }},
		{"I6", "does not carry its tags", func(in *invariant.Input) { in.Nodes[0].Seen.VGs[0].LVs[0].Cluster = "other" }},
		{"I7", "is not up", func(in *invariant.Input) { in.Nodes[0].Seen.Files = []string{"rvol-gone"} }},
		{"I7", "no replica here", func(in *invariant.Input) {
			in.Nodes[0].Seen.Resources = append(in.Nodes[0].Seen.Resources, inventory.Resource{Name: "rvol-gone"})
		}},
		{"I7", "no reservation has", func(in *invariant.Input) { in.Nodes[0].Seen.VGs[0].LVs[0].Reservation = "unheard-of" }},
		{"I7", "not proven", func(in *invariant.Input) { in.Reservations[0].State = model.Releasing }},
		{"I9", "index 21", func(in *invariant.Input) { in.Nodes[0].Seen.Accepted.Index = 21 }},
		{"I9", "incarnation 7", func(in *invariant.Input) { in.Nodes[0].Seen.Accepted.Incarnation = 7 }},
		{"I10", "a secret", func(in *invariant.Input) { in.Leaks = []string{"event 3 has a secret in it"} }},
	} {
		t.Run(tc.id+" "+tc.says, func(t *testing.T) {
			t.Parallel()
			in := sound()
			tc.spoil(&in)
			all := invariant.Judge(in)
			i := slices.IndexFunc(all, func(v invariant.Verdict) bool { return v.ID == tc.id })
			if v := all[i]; v.Status != model.False || !strings.Contains(strings.Join(v.Findings, "\n"), tc.says) {
				t.Errorf("%s: %q, want False and %q", v.Status, v.Findings, tc.says)
			}
		})
	}
}

// bootstrapping has its first data generation, and it is not committed yet that it has.
func bootstrapping(in *invariant.Input) {
	st := in.Volumes[0].Status
	st.Formed, st.Formation = false, &model.Transition{Steps: []model.TransitionStep{{Name: formation.BootstrapData, Status: model.StepActive}}}
}

func TestAnOrphanThatIsKeptNeedsNoTagsOfItsReservation(t *testing.T) {
	t.Parallel()
	in := sound()
	in.Reservations[0].OwnerKind = model.OwnerOrphan
	in.Nodes[0].Seen.VGs[0].LVs[0].Reservation = "of-before"
	for _, v := range invariant.Judge(in) {
		if v.ID == "I6" && v.Status != model.True {
			t.Errorf("%s: %q", v.Status, v.Findings)
		}
	}
}

func TestTheFirstDataOfAVolumeAreNoSecondFormation(t *testing.T) {
	t.Parallel()
	in := sound()
	bootstrapping(&in)
	for _, v := range invariant.Judge(in) {
		if v.ID == "I5" && v.Status != model.True {
			t.Errorf("%s: %q", v.Status, v.Findings)
		}
	}
}

func TestASoundClusterIsSound(t *testing.T) {
	t.Parallel()
	for _, v := range invariant.Judge(sound()) {
		if v.Status != model.True {
			t.Errorf("%s: %s %q", v.ID, v.Status, v.Findings)
		}
	}
}

func TestWithoutReportsNothingThatNeedsThemIsTrue(t *testing.T) {
	t.Parallel()
	in := sound()
	in.Nodes[1].Seen = nil
	for _, v := range invariant.Judge(in) {
		if strings.Contains("I3 I4 I5 I6 I7 I9", v.ID) && v.Status != model.Unknown {
			t.Errorf("%s: %s, want Unknown", v.ID, v.Status)
		}
	}
}
