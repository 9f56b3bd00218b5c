package formation

import (
	"testing"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// withTieBreaker is a volume on DRBD 9 of two Diskful and a TieBreaker.
func withTieBreaker(step string) Input {
	in := forming(2, step)
	in.Status.DRBD, in.Layout = "9", layout.Formula(1, 0)
	tb := replica(2, step)
	tb.Type, tb.Devices[0].Reservation, tb.Reservations, tb.State.Backing = model.TieBreaker, "", nil, nil
	tb.Resource.Devices[0].Disk = drbd.Diskless
	in.Replicas = append(in.Replicas, tb)
	in.Status.Datamesh.Members = append(in.Status.Datamesh.Members, model.DatameshMember{ID: 2, Type: model.TieBreaker, Node: "n3"})
	for i := range in.Replicas {
		in.Replicas[i].Resource.Peers = nil
		for id := range 3 {
			if id == i {
				continue
			}
			in.Replicas[i].Resource.Peers = append(in.Replicas[i].Resource.Peers, inventory.Peer{
				NodeID: id, Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Replication: drbd.Established}},
			})
		}
	}
	return in
}

func TestATieBreakerTakesPart(t *testing.T) {
	t.Parallel()
	cut := func(in *Input) { in.Replicas[2].Resource.Peers[1].Connection = drbd.Connecting }
	upToDate := func(in *Input) {
		in.Operation = granted(*in, model.OperationSucceeded)
		for i := range 2 {
			in.Replicas[i].Resource.Devices[0].Disk = drbd.UpToDate
		}
	}
	for _, tt := range []struct {
		name, step string
		change     []func(*Input)
		want       string
	}{
		{"it joins with the others", Preconfigure, nil, "put secret/volume/db-1; put volume.status/db-1"},
		{
			"it is connected before there is data", EstablishConnectivity,
			[]func(*Input){cut},
			"put volume.status/db-1; wait: replica 2 (n3) is not connected to replica 1 (n2): Connecting",
		},
		{"it has no disk to be Inconsistent", EstablishConnectivity, nil, "put volume.status/db-1"},
		{
			"once there is data it is waited for, for as long as it takes", BootstrapData,
			[]func(*Input){upToDate, cut, func(in *Input) { in.InStep = time.Hour }},
			"put volume.status/db-1; wait: replica 2 (n3) is not connected to replica 1 (n2): Connecting",
		},
		{"all are there: formed", BootstrapData, []func(*Input){upToDate}, "put volume.status/db-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := withTieBreaker(tt.step)
			for _, change := range tt.change {
				change(&in)
			}
			out, err := Next(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := says(out); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
