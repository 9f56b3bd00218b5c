package agents

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"rvol/coordinator/decide/desired"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
)

// formed puts a volume of two copies, on n1 and n2, that is attached on n1.
func (w *world) formed() {
	w.t.Helper()
	vol := &model.Volume{Class: "r2", Devices: []model.VolumeDevice{{Size: 1 << 30}}, DRBD: map[string]string{"ping-int": "5"}}
	vol.Name, vol.UID = "db-1", "uid-db-1"
	vs := &model.VolumeStatus{
		DRBD:          "8.4",
		Configuration: &model.Configuration{FTT: 1, SystemNetworks: []string{"default"}, OnNoQuorum: "suspend-io", Wipe: "none", DRBD: map[string]string{"ping-int": "10", "timeout": "60"}},
		Datamesh: model.Datamesh{Revision: 3, Members: []model.DatameshMember{
			{ID: 0, Type: model.Diskful, Node: "n1", HostName: "h1", Addresses: map[string]netip.AddrPort{"default": netip.MustParseAddrPort("10.0.0.1:17000")}},
			{ID: 1, Type: model.Diskful, Node: "n2", HostName: "h2", Addresses: map[string]netip.AddrPort{"default": netip.MustParseAddrPort("10.0.0.2:17001")}},
		}},
	}
	vs.Name = "db-1"
	r := &model.Replica{Volume: "db-1", ID: 0, Type: model.Diskful, Node: "n1", VG: "vg0", Port: 17000, Devices: []model.ReplicaDevice{{Minor: 10000, Reservation: "res-1"}}}
	r.Name, r.UID = "db-1/0", "uid-r0"
	res := &model.Reservation{
		OwnerKind: model.OwnerReplica, Owner: "db-1/0", Pool: model.PoolID{Node: "n1", VG: "u0"}, VGName: "vg0",
		LV: "rvol-db-1.0.0", LVUUID: "lv-0", Granted: 1<<30 + 4<<20, State: model.Bound, Imported: true,
	}
	res.Name = "res-1"
	gone := &model.Reservation{
		OwnerKind: model.OwnerReplica, Owner: "old/0", Pool: model.PoolID{Node: "n1", VG: "u0"}, VGName: "vg0",
		LV: "rvol-old.0.0", LVUUID: "lv-9", Granted: 4 << 20, State: model.Releasing, Imported: true,
	}
	gone.Name = "res-9"
	c := &model.Capacity{Pool: model.PoolID{Node: "n1", VG: "u0"}, VGName: "vg0", ExtentSize: 4 << 20, Extents: 1000, Percent: 100}
	c.Name = c.Pool.String()
	a := &model.Attachment{Volume: "db-1", Node: "n1", Granted: true}
	a.Name = "db-1/n1"
	secret := &model.Secret{Value: "s3cret"}
	secret.Name = model.VolumeSecret("db-1")
	op := &model.Operation{
		Type: model.OperationCreateNewUUID, Node: "n1", Volume: "db-1", Phase: model.OperationPending,
		NewUUID: &model.NewUUIDParams{ClearBitmap: true, Revision: 3, Peers: []int{1}, LVUUIDs: []string{"lv-0"}},
	}
	op.Name, op.UID = "db-1-formation-1", "uid-op"
	w.put(vol, vs, r, res, gone, c, secret, op)
	vs.Formed = true // an operation that forms it is from before
	w.put(vs, a)
}

func TestAnOrderSaysEverything(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.formed()
		st, _ := get[*model.NodeStatus](w, "n1")
		st = model.Clone(st)
		st.Ready, st.HostName, st.Addresses = true, "h1", map[string]netip.Addr{"default": netip.MustParseAddr("10.0.0.1")}
		w.put(st)
		s, err := Gather(w.store.View(), "n1")
		if err != nil {
			t.Fatal(err)
		}
		got := toProto(desired.For(s))
		want := &agentv1.Desired{
			Cluster: "test", Coordinators: []string{"c1:7170"},
			Resources: []*agentv1.DesiredResource{{
				Volume: "db-1", VolumeUid: "uid-db-1", Name: "rvol-db-1", ReplicaUid: "uid-r0", Type: "Diskful", Primary: true, Member: true,
				Revision: 3, Formed: true, HostName: "h1", Port: 17000, Addresses: map[string]string{"default": "10.0.0.1"},
				Devices: []*agentv1.DesiredDevice{{Minor: 10000, Size: 1 << 30, Backing: &agentv1.Backing{
					Reservation: "res-1", Vg: "vg0", VgUuid: "u0", Lv: "rvol-db-1.0.0", LvUuid: "lv-0", Size: 1<<30 + 4<<20, Wipe: "none",
				}}},
				Peers:  []*agentv1.DesiredPeer{{Id: 1, Type: "Diskful", Node: "n2", HostName: "h2", Port: 17001, Addresses: map[string]string{"default": "10.0.0.2"}}},
				Secret: "s3cret", OnNoQuorum: "suspend-io", Options: map[string]string{"ping-int": "5", "timeout": "60"}, Drbd: "8.4",
				MaxPeers: got.GetResources()[0].GetMaxPeers(), // desired's choice
			}},
			Releases: []*agentv1.Release{{
				Reservation: "res-9", Volume: "old", Resource: "rvol-old", Vg: "vg0", VgUuid: "u0", Lv: "rvol-old.0.0", LvUuid: "lv-9",
			}},
			Operations: []*agentv1.OperationGrant{{
				Id: "db-1-formation-1.uid-op", Type: "CreateNewUUID", Volume: "db-1", ReplicaUid: "uid-r0",
				NewUuid: &agentv1.NewUUID{ClearBitmap: true, Revision: 3, Peers: []int32{1}, LvUuids: []string{"lv-0"}},
			}},
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnAttachmentThatEndsIsNoLongerOrdered(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.formed()
		a, _ := get[*model.Attachment](w, "db-1/n1")
		a = model.Clone(a)
		a.DeletingSince = w.store.View().Time()
		w.put(a)
		s, err := Gather(w.store.View(), "n1")
		if err != nil || desired.For(s).Resources[0].Primary {
			t.Errorf("still Primary, or %v", err)
		}
	})
}

func TestTheSameIndexGivesTheSameOrder(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.formed()
		v := w.store.View()
		order := func(v state.View) *agentv1.Desired {
			s, err := Gather(v, "n1")
			if err != nil {
				t.Fatal(err)
			}
			return toProto(desired.For(s))
		}
		first := order(v)
		p := &model.Pool{}
		p.Name = "elsewhere"
		w.put(p)
		if diff := cmp.Diff(first, order(w.store.View()), protocmp.Transform()); diff != "" || v.NodeRevision("n1") != w.store.View().NodeRevision("n1") {
			t.Errorf("what touches nobody changed the order: %s", diff)
		}
	})
}
