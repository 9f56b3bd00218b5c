package admin

import (
	"fmt"
	"testing"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

func TestHowFarAComparisonIsAsItsSourceSays(t *testing.T) {
	t.Parallel()
	found := model.VerifiedCopy{ID: 1, Compared: true, OutOfSync: 8192}
	comparing := inventory.PeerDevice{Replication: drbd.VerifyS, DonePercent: 42.5}
	for _, tc := range []struct {
		name   string
		phase  model.VerificationPhase
		copied model.VerifiedCopy
		peer   inventory.Peer
		want   string
	}{
		{"as the kernel says", model.Comparing, model.VerifiedCopy{ID: 1}, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{comparing}}, "42.5"},
		{"of the device that is furthest behind", model.Comparing, model.VerifiedCopy{ID: 1}, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{
			comparing, {Replication: drbd.VerifyS, DonePercent: 7}, {Replication: drbd.Established, DonePercent: 3},
		}}, "7"},
		{"of the one other copy of DRBD 8.4", model.Comparing, model.VerifiedCopy{ID: 1}, inventory.Peer{NodeID: -1, Devices: []inventory.PeerDevice{comparing}}, "42.5"},
		{"not of another copy", model.Comparing, model.VerifiedCopy{ID: 2}, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{comparing}}, ""},
		{"nobody tells", model.Comparing, model.VerifiedCopy{ID: 1}, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{{Replication: drbd.VerifyS, DonePercent: drbd.Untold}}}, ""},
		{"its turn is to come", model.Comparing, model.VerifiedCopy{ID: 1}, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{{Replication: drbd.Established, DonePercent: 100}}}, ""},
		{"of what differed, not of all", model.Repairing, found, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{{Replication: drbd.SyncSource, OutOfSync: 2048, DonePercent: 99.9}}}, "75"},
		{"more differs meanwhile", model.Repairing, found, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{{Replication: drbd.SyncSource, OutOfSync: 16384}}}, "0"},
		{"what differed waits", model.Repairing, found, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{{Replication: drbd.Established, OutOfSync: 8192}}}, ""},
		{"it is over", model.Verified, found, inventory.Peer{NodeID: 1, Devices: []inventory.PeerDevice{comparing}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			source := &inventory.Node{Connected: true, Full: true, Resources: []inventory.Resource{{Name: "rvol-db", Peers: []inventory.Peer{tc.peer}}}}
			two := &model.VolumeStatus{Datamesh: model.Datamesh{Members: []model.DatameshMember{{ID: 0, Type: model.Diskful}, {ID: 1, Type: model.Diskful}}}}
			replicas := []replicaView{{Replica: &model.Replica{Volume: "db", ID: 0}, agent: source, status: two}}
			got := progress(&model.Verification{Phase: tc.phase}, tc.copied, replicas)
			text := ""
			if got != nil {
				text = fmt.Sprint(*got)
			}
			if text != tc.want {
				t.Errorf("%q %%, want %q", text, tc.want)
			}
		})
	}
}
