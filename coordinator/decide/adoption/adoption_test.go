package adoption_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/adoption"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// forgotten is a volume of two copies that both agents remember, in use on n1.
func forgotten() adoption.Input {
	in := adoption.Input{
		Name: "db-1", Class: "r2", Configuration: &model.Configuration{FTT: 1, SystemNetworks: []string{"default"}}, Generation: 4, Now: time.Unix(100, 0),
	}
	for id, node := range []string{"n1", "n2"} {
		other := []string{"n2", "n1"}[id]
		r := adoption.Replica{Node: node, LVs: map[string]adoption.LV{}, Resource: inventory.Resource{
			Name: "rvol-db-1", Role: drbd.Secondary, Peers: []inventory.Peer{{Connection: drbd.Connected}},
		}}
		r.Kept = inventory.Kept{
			Volume: "db-1", VolumeUID: "uid", ID: id, UID: "uid-" + node, Type: model.Diskful, HostName: node, Port: 17000 + id, Secret: "s3cret",
			Addresses: map[string]string{"default": "10.0.0.1"}, DRBD: "8.4", Revision: 6, Formed: true,
			Devices: []inventory.KeptDevice{{Minor: 10000, Size: 1 << 20, Reservation: "res-" + node, VG: "vg0", LV: model.LVName("db-1", 0, id), LVUUID: "lv-" + node}},
			Peers:   []inventory.KeptPeer{{ID: 1 - id, Node: other}},
		}
		orphan := &model.Reservation{OwnerKind: model.OwnerOrphan}
		orphan.Name = "orphan." + node
		r.LVs["res-"+node] = adoption.LV{
			LV:   inventory.LV{Name: model.LVName("db-1", 0, id), UUID: "lv-" + node, Size: 2 << 20},
			Pool: model.PoolID{Node: node, VG: "vg-" + node}, VGName: "vg0", Orphan: orphan,
		}
		in.Replicas = append(in.Replicas, r)
	}
	in.Replicas[0].Resource.Role = drbd.Primary
	return in
}

func TestAVolumeIsAdoptedAsItIs(t *testing.T) {
	t.Parallel()
	got, err := adoption.Adopt(forgotten())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range got.Put {
		keys = append(keys, o.Key().String())
		switch o := o.(type) {
		case *model.VolumeStatus:
			if !o.Formed || o.Datamesh.Revision != 7 || o.NextID != 2 || len(o.Datamesh.Members) != 2 || o.ConfigurationGeneration != 4 {
				t.Errorf("status %+v: want it formed, at a revision that nobody runs, with both members", o)
			}
		case *model.Replica:
			if o.UID != "uid-"+o.Node || o.Port != 17000+o.ID || o.Devices[0] != (model.ReplicaDevice{Minor: 10000, Reservation: "res-" + o.Node}) {
				t.Errorf("replica %+v: want its uid and its numbers", o)
			}
		case *model.Reservation:
			if o.State != model.Bound || o.LVUUID == "" || o.Granted != 2<<20 || !o.Imported {
				t.Errorf("reservation %+v: want it bound to its LV", o)
			}
		case *model.Secret:
			if o.Value != "s3cret" {
				t.Errorf("secret %q", o.Value)
			}
		}
	}
	want := []string{
		"volume/db-1", "volume.status/db-1", "secret/volume/db-1", "reservation/res-n1", "replica/db-1/0", "attachment/db-1/n1",
		"reservation/res-n2", "replica/db-1/1",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	if len(got.Delete) != 2 {
		t.Errorf("orphans that are none any more: %v, want two", got.Delete)
	}
}

func TestWhatIsNotAdopted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, says string
		change     func(in *adoption.Input)
	}{
		{"what nobody remembers", "no agent remembers", func(in *adoption.Input) { in.Replicas = nil }},
		{"half of it", "node n2 had replica 1", func(in *adoption.Input) { in.Replicas = in.Replicas[:1] }},
		{"two volumes of one name", "different volumes", func(in *adoption.Input) { in.Replicas[1].VolumeUID = "other" }},
		{"what was never formed", "never formed", func(in *adoption.Input) { in.Replicas[1].Formed = false }},
		{"a copy on its way", "being added or removed", func(in *adoption.Input) { in.Replicas[1].Type = model.LiminalDiskful }},
		{"devices that differ", "devices differ", func(in *adoption.Input) { in.Replicas[1].Devices[0].Size = 7 }},
		{"an LV that is gone", "is not on node n2", func(in *adoption.Input) { in.Replicas[1].LVs = nil }},
		{"another LV in its place", "is not on node n1", func(in *adoption.Input) { in.Replicas[0].Devices[0].LVUUID = "other" }},
		{"two copies that do not see each other", "nobody knows which is newer", func(in *adoption.Input) {
			for i := range in.Replicas {
				in.Replicas[i].Resource.Role, in.Replicas[i].Resource.Peers = drbd.Secondary, nil
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := forgotten()
			tc.change(&in)
			if _, err := adoption.Adopt(in); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want it to say %q", err, tc.says)
			}
		})
	}
}
