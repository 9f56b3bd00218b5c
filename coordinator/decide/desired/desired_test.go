package desired

import (
	"net/netip"
	"testing"

	"rvol/coordinator/model"
)

// node is n1 with replica 0 of db-1, formed, attached, connected to replica 1 on n2.
func node() State {
	s := State{
		Cluster: &model.Cluster{ID: "c1"}, Node: &model.Node{},
		Status: &model.NodeStatus{Ready: true, HostName: "n1", Addresses: map[string]netip.Addr{"default": netip.MustParseAddr("10.0.0.1"), "other": netip.MustParseAddr("10.9.0.1")}},
	}
	r := &model.Replica{Volume: "db-1", Type: model.Diskful, Node: "n1", Port: 17000, Devices: []model.ReplicaDevice{{Minor: 10000, Reservation: "res0"}}}
	r.Name, r.UID = "db-1/0", "u0"
	vol := &model.Volume{Devices: []model.VolumeDevice{{Size: 8192}}, DRBD: map[string]string{"ping-int": "5"}}
	vol.Name = "db-1"
	s.Volumes = []Volume{{
		Volume: vol, Replica: r, Secret: "s", Attached: true,
		Status: &model.VolumeStatus{
			Formed: true, DRBD: "9",
			Configuration: &model.Configuration{SystemNetworks: []string{"default"}, OnNoQuorum: "suspend-io", DRBD: map[string]string{"ping-int": "1", "c-max-rate": "4M"}},
			Datamesh: model.Datamesh{
				Revision: 2, Quorum: 2, QuorumMinimumRedundancy: 1, Devices: []model.VolumeDevice{{Size: 4096}},
				Members: []model.DatameshMember{{ID: 0, Node: "n1"}, {ID: 1, Node: "n2"}},
			},
		},
	}}
	res := &model.Reservation{State: model.Bound, Owner: "db-1/0"}
	res.Name = "res0"
	s.Reservations = []*model.Reservation{res}
	return s
}

func TestAMemberGetsItsPeersSecretAndQuorum(t *testing.T) {
	t.Parallel()
	o := For(node())
	r := o.Resources[0]
	if !r.Member || r.Revision != 2 || r.Secret != "s" || r.Quorum != 2 || len(r.Peers) != 1 || r.Peers[0].ID != 1 {
		t.Errorf("got %+v", r)
	}
	if len(r.Addresses) != 1 || r.Addresses["default"] != "10.0.0.1" {
		t.Errorf("addresses %v, want the class's networks only", r.Addresses)
	}
	if r.Options["ping-int"] != "5" || r.Options["c-max-rate"] != "4M" {
		t.Errorf("options %v, want the volume's in front of the class's", r.Options)
	}
	if d := r.Devices[0]; d.Size != 4096 || d.Backing == nil {
		t.Errorf("device %+v, want the mesh's size and its reservation", d)
	}
}

func TestWhoIsPrimary(t *testing.T) {
	t.Parallel()
	other, own := 1, 0
	tests := []struct {
		name   string
		change func(*State)
		want   bool
	}{
		{"attached", func(*State) {}, true},
		{"not attached", func(s *State) { s.Volumes[0].Attached = false }, false},
		{"fenced", func(s *State) { s.Node.Fenced = &model.Fence{} }, false},
		{"not formed", func(s *State) { s.Volumes[0].Status.Formed = false }, false},
		{"stopped", func(s *State) { s.Volumes[0].Stopped = true }, false},
		{"the other copy goes on alone", func(s *State) { s.Volumes[0].Status.Sole = &other }, false},
		{"this copy goes on alone", func(s *State) { s.Volumes[0].Status.Sole = &own }, true},
		{"not a member", func(s *State) { s.Volumes[0].Status.Datamesh.Members = nil }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := node()
			tt.change(&s)
			if got := For(s).Resources[0].Primary; got != tt.want {
				t.Errorf("primary %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAPreconfiguredReplicaKnowsNobodyAndNoSecret(t *testing.T) {
	t.Parallel()
	s := node()
	s.Volumes[0].Status.Datamesh.Members = nil
	r := For(s).Resources[0]
	if r.Member || r.Secret != "" || len(r.Peers) != 0 || r.Quorum != 0 || r.Revision != 0 {
		t.Errorf("got %+v", r)
	}
	if len(r.Devices) != 1 {
		t.Errorf("devices %v, want its backing to be prepared", r.Devices)
	}
}

func TestAReleasedReservationIsOrderedAwayAndItsReplicaNotHeld(t *testing.T) {
	t.Parallel()
	s := node()
	s.Volumes[0].Replica.DeletingSince = s.Volumes[0].CreatedAt.AddDate(2000, 0, 0)
	s.Reservations[0].State = model.Releasing
	o := For(s)
	if len(o.Resources) != 0 || len(o.Releases) != 1 || o.Releases[0].Volume != "db-1" || o.Releases[0].ReplicaUID != "u0" {
		t.Errorf("got %+v", o)
	}
}

func TestOnlyUnfinishedOperationsAreGranted(t *testing.T) {
	t.Parallel()
	s := node()
	for _, p := range []model.OperationPhase{model.OperationSucceeded, model.OperationPending, model.OperationFailed, model.OperationRunning} {
		op := &model.Operation{Phase: p}
		op.Name = string(p)
		s.Operations = append(s.Operations, op)
	}
	got := For(s).Operations
	if len(got) != 2 || got[0].Name != "Pending" || got[1].Name != "Running" {
		t.Errorf("granted %d operations", len(got))
	}
}
