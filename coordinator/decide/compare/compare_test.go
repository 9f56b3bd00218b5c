package compare_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/compare"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// world is a formed volume db-1 with a copy on n1 and one on n2, and two agents that
// report exactly that.
func world() compare.Input {
	in := compare.Input{Cluster: &model.Cluster{ID: "lab", Incarnation: 2}}
	vol := &model.Volume{}
	vol.Name = "db-1"
	vs := &model.VolumeStatus{Formed: true, DRBD: "8.4"}
	vs.Datamesh.Revision = 5
	v := compare.Volume{Volume: vol, Status: vs}
	for id, node := range []string{"n1", "n2"} {
		uid := "uid-" + node
		r := &model.Replica{Volume: "db-1", ID: id, Type: model.Diskful, Node: node}
		r.Name, r.UID = model.ReplicaName("db-1", id), uid
		v.Replicas = append(v.Replicas, r)
		vs.Datamesh.Members = append(vs.Datamesh.Members, model.DatameshMember{ID: id, Type: model.Diskful, Node: node})
		res := &model.Reservation{
			OwnerKind: model.OwnerReplica, Owner: r.Name, Pool: model.PoolID{Node: node, VG: "vg-" + node}, VGName: "vg0",
			LV: model.LVName("db-1", 0, id), Granted: 100, State: model.Bound,
		}
		res.Name = "res-" + node
		in.Reservations = append(in.Reservations, res)
		in.Nodes = append(in.Nodes, compare.Node{Name: node, Seen: &inventory.Node{
			Name: node, Connected: true, Full: true, Accepted: inventory.Order{Incarnation: 2, Index: 9},
			VGs: []inventory.VG{{Name: "vg0", UUID: "vg-" + node, LVs: []inventory.LV{
				{Name: res.LV, UUID: "lv-" + node, Size: 100, Reservation: res.Name, Cluster: "lab"},
			}}},
			Resources: []inventory.Resource{{
				Name: "rvol-db-1", Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.UpToDate}},
				Peers: []inventory.Peer{{Connection: drbd.Connected}},
			}},
			Replicas: map[string]inventory.ReplicaState{uid: {Volume: "db-1", UID: uid, AppliedRevision: 5}},
		}})
	}
	in.Volumes = []compare.Volume{v}
	return in
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	type seen struct {
		kind         compare.Kind
		node, object string
	}
	for _, tc := range []struct {
		name   string
		change func(in *compare.Input)
		want   []seen
	}{
		{"there are none", func(*compare.Input) {}, nil},
		{"an LV that no reservation has", func(in *compare.Input) {
			in.Reservations = in.Reservations[1:]
		}, []seen{{compare.UnknownLV, "n1", "vg0/rvol-db-1.0.0"}}},
		{"an LV with the tags of another cluster is not ours", func(in *compare.Input) {
			in.Reservations = in.Reservations[1:]
			in.Nodes[0].Seen.VGs[0].LVs[0].Cluster = "other"
		}, nil},
		{"a volume that the state does not know", func(in *compare.Input) {
			in.Volumes, in.Reservations = nil, nil
		}, []seen{
			{compare.UnknownLV, "n1", "vg0/rvol-db-1.0.0"},
			{compare.UnknownResource, "n1", "rvol-db-1"},
			{compare.UnknownLV, "n2", "vg0/rvol-db-1.0.1"},
			{compare.UnknownResource, "n2", "rvol-db-1"},
		}},
		{"a resource of somebody else is nobody's business", func(in *compare.Input) {
			in.Nodes[0].Seen.Resources = append(in.Nodes[0].Seen.Resources, inventory.Resource{Name: "mysql", Role: drbd.Primary})
		}, nil},
		{"a bound LV that is gone", func(in *compare.Input) {
			in.Nodes[1].Seen.VGs[0].LVs = nil
		}, []seen{{compare.MissingLV, "n2", "rvol-db-1.0.1"}}},
		{"an LV that is not made yet", func(in *compare.Input) {
			in.Nodes[1].Seen.VGs[0].LVs = nil
			in.Reservations[1].State = model.Reserved
		}, nil},
		{"an LV whose removal had begun", func(in *compare.Input) {
			in.Reservations[1].State = model.Releasing
		}, []seen{{compare.ToRemove, "n2", "rvol-db-1.0.1"}}},
		{"an LV that grew since", func(in *compare.Input) {
			in.Nodes[0].Seen.VGs[0].LVs[0].Size = 200
		}, []seen{{compare.LargerLV, "n1", "rvol-db-1.0.0"}}},
		{"an LV that somebody made smaller", func(in *compare.Input) {
			in.Nodes[0].Seen.VGs[0].LVs[0].Size = 99
		}, []seen{{compare.SmallerLV, "n1", "rvol-db-1.0.0"}}},
		{"an LV that is to be grown", func(in *compare.Input) {
			in.Reservations[0].Granted, in.Reservations[0].Pending = 200, 200
		}, nil},
		{"a copy that DRBD does not run", func(in *compare.Input) {
			in.Nodes[1].Seen.Resources = nil
		}, []seen{{compare.NotUp, "n2", "db-1/1"}}},
		{"a copy of a stopped volume", func(in *compare.Input) {
			in.Nodes[1].Seen.Resources = nil
			in.Volumes[0].Stopped = true
		}, nil},
		{"a copy that is not a member yet", func(in *compare.Input) {
			in.Nodes[1].Seen.Resources = nil
			in.Volumes[0].Status.Datamesh.Members = in.Volumes[0].Status.Datamesh.Members[:1]
		}, nil},
		{"files of what is up", func(in *compare.Input) {
			in.Nodes[0].Seen.Files = []string{"rvol-db-1"}
		}, nil},
		{"a file of a volume that nobody knows", func(in *compare.Input) {
			in.Nodes[0].Seen.Files = []string{"rvol-db-1", "rvol-gone", "by-hand"}
		}, []seen{{compare.StaleFile, "n1", "by-hand"}, {compare.StaleFile, "n1", "rvol-gone"}}},
		{"a file of a volume that the agent keeps", func(in *compare.Input) {
			in.Nodes[0].Seen.Files = []string{"rvol-kept"}
			in.Nodes[0].Seen.Kept = []inventory.Kept{{Volume: "kept"}}
		}, nil},
		{"in use without an attachment", func(in *compare.Input) {
			in.Nodes[0].Seen.Resources[0].Role = drbd.Primary
		}, []seen{{compare.InUse, "n1", "db-1/0"}}},
		{"in use as it should be", func(in *compare.Input) {
			in.Nodes[0].Seen.Resources[0].Role = drbd.Primary
			in.Volumes[0].Attachments = []*model.Attachment{{Volume: "db-1", Node: "n1", Granted: true}}
		}, nil},
		{"an attachment that is over", func(in *compare.Input) {
			in.Volumes[0].Attachments = []*model.Attachment{{Volume: "db-1", Node: "n2", Granted: true}}
		}, []seen{{compare.NotInUse, "n2", "db-1/1"}}},
		{"a mesh that went on", func(in *compare.Input) {
			in.Volumes[0].Status.Datamesh.Revision = 4
		}, []seen{{compare.Ahead, "n1", "db-1/0"}, {compare.Ahead, "n2", "db-1/1"}}},
		{"data in a volume that is to be formed", func(in *compare.Input) {
			in.Volumes[0].Status.Formed = false
		}, []seen{{compare.Formed, "n1", "db-1/0"}, {compare.Formed, "n2", "db-1/1"}}},
		{"two copies that do not see each other", func(in *compare.Input) {
			for i := range in.Nodes {
				in.Nodes[i].Seen.Resources[0].Peers[0].Connection = drbd.Connecting
			}
		}, []seen{{compare.Apart, "", "db-1"}}},
		{"of a node without a full report nothing is known", func(in *compare.Input) {
			in.Volumes, in.Reservations = nil, nil
			in.Nodes[0].Seen.Full = false
			in.Nodes[1].Seen.Accepted.Incarnation = 1
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := world()
			tc.change(&in)
			var got []seen
			for _, d := range compare.Differences(in) {
				got = append(got, seen{d.Kind, d.Node, d.Object})
				if d.Says == "" || d.Then == "" {
					t.Errorf("%v does not say what it is and what comes of it", d)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(seen{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVolumeOfLV(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"rvol-db-1.0.1": "db-1", "rvol-a.1.31": "a", "rvol-a.1": "", "other": "", "rvol-a.x.1": "", "root": "",
	} {
		if got, _ := compare.VolumeOfLV(name); got != want {
			t.Errorf("%s: volume %q, want %q", name, got, want)
		}
	}
}
