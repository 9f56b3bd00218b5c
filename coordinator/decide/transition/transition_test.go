package transition_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

const gib = 1 << 30

// volume is a formed volume of two copies, both well.
func volume() transition.Input {
	in := transition.Input{
		Volume: &model.Volume{Meta: model.Meta{Name: "db"}, Devices: []model.VolumeDevice{{Size: gib}}},
		Status: &model.VolumeStatus{Meta: model.Meta{Name: "db"}, Formed: true},
		Now:    time.Unix(1000, 0),
	}
	for id := range 2 {
		r := &model.Replica{Volume: "db", ID: id, Type: model.Diskful, Node: string(rune('a' + id))}
		r.Name = model.ReplicaName("db", id)
		res := &model.Reservation{OwnerKind: model.OwnerReplica, Owner: r.Name, Granted: gib + 1}
		res.Name = "res" + r.Node
		in.Members = append(in.Members, transition.Member{
			Replica: r, Reservations: []*model.Reservation{res}, Known: true, Up: true, Accepted: 100,
			Resource: inventory.Resource{
				Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.UpToDate, Size: gib}},
				Peers: []inventory.Peer{{NodeID: 1 - id, Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Replication: drbd.Established, Disk: drbd.UpToDate}}}},
			},
			State: inventory.ReplicaState{Backing: []inventory.Backing{{LVSize: gib + 1}}},
		})
	}
	return in
}

func backing(size int64, _ *model.Reservation) int64 { return size + 1 }

// carried is the input after an outcome.
func carried(in transition.Input, out transition.Outcome) transition.Input {
	for _, o := range out.Put {
		switch o := o.(type) {
		case *model.Volume:
			in.Volume = o
		case *model.VolumeStatus:
			in.Status = o
		case *model.Reservation:
			for i := range in.Members {
				if in.Members[i].Reservations[0].Name == o.Name {
					in.Members[i].Reservations = []*model.Reservation{o}
				}
			}
		}
	}
	return in
}

func started(t *testing.T) transition.Input {
	t.Helper()
	in := volume()
	out, err := transition.StartResize(in, []model.VolumeDevice{{Size: 2 * gib}}, backing)
	if err != nil {
		t.Fatal(err)
	}
	in = carried(in, out)
	for _, m := range in.Members {
		if m.Reservations[0].Pending != 2*gib+1 {
			t.Errorf("reservation %s: %d pending", m.Reservations[0].Name, m.Reservations[0].Pending)
		}
	}
	return in
}

func TestAStepFromTheFutureIsToldOfAllTheSame(t *testing.T) {
	in := started(t)
	in = carried(in, transition.Next(in))
	change := &in.Status.Transitions[0]
	change.StartedAt = in.Now.Add(time.Hour) // by a leader whose clock was ahead
	for i := range change.Steps {
		change.Steps[i].StartedAt = in.Now.Add(time.Hour)
	}
	if out := transition.Next(in); out.Wait == "" || out.Again > time.Minute {
		t.Errorf("%q is told in %s, want soon", out.Wait, out.Again)
	}
}

func TestAResizeStepByStep(t *testing.T) {
	in := started(t)
	if transition.Growing(in.Status) {
		t.Error("agents are to grow before the guards were asked")
	}
	in = carried(in, transition.Next(in))
	if !transition.Growing(in.Status) {
		t.Fatal("agents are not told to grow")
	}
	if out := transition.Next(in); !strings.Contains(out.Wait, "replica 0 (a): LV") {
		t.Errorf("waits for %q", out.Wait)
	}
	for i := range in.Members {
		in.Members[i].State.Backing[0].LVSize = 2*gib + 1
	}
	in.Members[1].Resource.Role = drbd.Primary
	in = carried(in, transition.Next(in))
	if transition.ResizeTo(in.Status, 0, 0) != 0 || transition.ResizeTo(in.Status, 1, 0) != 2*gib {
		t.Error("not the one that uses the volume, and it alone, is to resize")
	}
	if why := transition.MayAbandon(&in.Status.Transitions[0]); why == "" {
		t.Error("it may be given up while DRBD resizes")
	}
	in.Members[0].Resource.Devices[0].Size = 2 * gib
	if out := transition.Next(in); !strings.Contains(out.Wait, "replica 1 (b): DRBD's device 0 has 1 GiB of 2 GiB") {
		t.Errorf("waits for %q", out.Wait)
	}
	in.Members[1].Resource.Devices[0].Size = 2 * gib
	in = carried(in, transition.Next(in))
	if in.Volume.Devices[0].Size != 2*gib || len(in.Status.Transitions) != 0 || in.Members[0].Reservations[0].Granted != 2*gib+1 {
		t.Errorf("at the end: %+v, %+v, %+v", in.Volume.Devices, in.Status.Transitions, in.Members[0].Reservations[0])
	}
}

func TestAResizeBeginsOnlyWhenAllIsWell(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*transition.Member)
		says  string
	}{
		{"no report", func(m *transition.Member) { m.Known = false }, "no report of its node"},
		{"down", func(m *transition.Member) { m.Up = false }, "DRBD is not up"},
		{"behind", func(m *transition.Member) { m.Resource.Devices[0].Disk = drbd.Outdated }, "Outdated, want UpToDate"},
		{"not connected", func(m *transition.Member) { m.Resource.Peers[0].Connection = drbd.Connecting }, "Connecting, want Connected"},
		{"no peer", func(m *transition.Member) { m.Resource.Peers = nil }, "0 of its 1 peers"},
		{"resync", func(m *transition.Member) { m.Resource.Peers[0].Devices[0].Replication = drbd.SyncSource }, "SyncSource"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := started(t)
			tc.spoil(&in.Members[1])
			out := transition.Next(in)
			if !strings.Contains(out.Wait, tc.says) || !strings.Contains(out.Wait, "1 (b)") {
				t.Errorf("waits for %q, want it to say %q", out.Wait, tc.says)
			}
			if transition.Growing(carried(in, out).Status) {
				t.Error("it has begun")
			}
		})
	}
}

func TestAResizeThatIsGivenUpWaitsForItsMembers(t *testing.T) {
	in := started(t)
	in = carried(in, transition.Next(in))
	in = carried(in, transition.Abandon(in, 0, "no more"))
	in.Status.Revision = 200
	if transition.Growing(in.Status) {
		t.Error("agents go on growing")
	}
	if out := transition.Next(in); out.Changed() || !strings.Contains(out.Wait, "has read that") {
		t.Errorf("space is given back before the agents have stopped: %+v", out)
	}
	in.Members[0].Accepted, in.Members[1].Accepted = 200, 200
	in.Members[0].State.Backing[0].LVSize = 2*gib + 1 // was faster
	in = carried(in, transition.Next(in))
	a, b := in.Members[0].Reservations[0], in.Members[1].Reservations[0]
	if a.Charge() != 2*gib+1 || b.Charge() != gib+1 || len(in.Status.Transitions) != 0 {
		t.Errorf("charged %d and %d, transitions %+v", a.Charge(), b.Charge(), in.Status.Transitions)
	}
}

func TestResizesThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*transition.Input)
		to     []model.VolumeDevice
		is     error
	}{
		{"smaller", nil, []model.VolumeDevice{{Size: gib / 2}}, model.ErrInvalid},
		{"nothing", nil, []model.VolumeDevice{{Size: 0}}, model.ErrInvalid},
		{"another device", nil, []model.VolumeDevice{{Number: 3, Size: 2 * gib}}, model.ErrInvalid},
		{"twice", nil, []model.VolumeDevice{{Size: 2 * gib}, {Size: 3 * gib}}, model.ErrInvalid},
		{"too large", nil, []model.VolumeDevice{{Size: 2 << 50}}, model.ErrInvalid},
		{"not formed", func(in *transition.Input) { in.Status.Formed = false }, []model.VolumeDevice{{Size: 2 * gib}}, model.ErrBusy},
		{"stopped", func(in *transition.Input) { in.Volume.Stopped = true }, []model.VolumeDevice{{Size: 2 * gib}}, model.ErrBusy},
		{"going", func(in *transition.Input) { in.Volume.DeletingSince = in.Now }, []model.VolumeDevice{{Size: 2 * gib}}, model.ErrBusy},
		{
			"another change", func(in *transition.Input) { in.Status.Transitions = []model.Transition{{Plan: "x/v1"}} },
			[]model.VolumeDevice{{Size: 2 * gib}},
			model.ErrBusy,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := volume()
			if tc.change != nil {
				tc.change(&in)
			}
			out, err := transition.StartResize(in, tc.to, backing)
			if !errors.Is(err, tc.is) || out.Changed() {
				t.Errorf("got %v and %d changes", err, len(out.Put))
			}
		})
	}
}

func TestAPlanOfANewerVersionIsLeftAlone(t *testing.T) {
	in := volume()
	in.Status.Transitions = []model.Transition{{Type: "ResizeVolume", Plan: "resize/v9", Steps: []model.TransitionStep{{Name: "x"}}}}
	out := transition.Next(in)
	if out.Changed() || !strings.Contains(out.Wait, "resize/v9 is not known") {
		t.Errorf("%+v", out)
	}
}
