package formation

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

var now = time.Unix(1_000_000, 0).UTC()

// forming is a volume of n Diskful replicas that has come as far as step.
func forming(n int, step string) Input {
	l, _ := layout.NewDRBD84(n-1, 0)
	in := Input{
		Volume: &model.Volume{Devices: []model.VolumeDevice{{Size: 1 << 30}}, Class: "c"},
		Status: &model.VolumeStatus{
			Configuration: &model.Configuration{FTT: n - 1, PoolType: model.LVMThin, Pool: "p", SystemNetworks: []string{"default"}},
			DRBD:          "8.4",
			Datamesh:      model.Datamesh{Revision: 1, SystemNetworks: []string{"default"}, Devices: []model.VolumeDevice{{Size: 1 << 30}}},
		},
		Layout: l, Pool: &model.PoolStatus{}, Now: now, Secret: "s3cret", UIDs: []string{"u0", "u1", "u2"},
		Zeroing: func(model.PoolID) bool { return true },
	}
	in.Volume.Name, in.Status.Name = "db-1", "db-1"
	tr := &model.Transition{Plan: Plan}
	reached := false
	for _, s := range []string{Preconfigure, EstablishConnectivity, BootstrapData} {
		status := model.StepCompleted
		switch {
		case s == step:
			status, reached = model.StepActive, true
		case reached:
			status = model.StepPending
		}
		tr.Steps = append(tr.Steps, model.TransitionStep{Name: s, Status: status})
	}
	in.Status.Formation = tr
	for id := range n {
		in.Replicas = append(in.Replicas, replica(id, step))
	}
	if step != Preconfigure {
		in.Status.Datamesh.Revision = 2
		for _, r := range in.Replicas {
			in.Status.Datamesh.Members = append(in.Status.Datamesh.Members, model.DatameshMember{ID: r.ID, Type: r.Type, Node: r.Node})
		}
	}
	return in
}

// replica is one that has done all that step waits for.
func replica(id int, step string) Replica {
	node := fmt.Sprintf("n%d", id+1)
	res := fmt.Sprintf("res%d", id)
	r := Replica{
		Replica: &model.Replica{
			Volume: "db-1", ID: id, Type: model.Diskful, Node: node, VG: "vg0", Port: 17000,
			Devices:    []model.ReplicaDevice{{Minor: 10000, Reservation: res}},
			Conditions: model.Conditions{{Type: "Scheduled", Status: model.True}},
		},
		Reservations: []*model.Reservation{{State: model.Bound}},
		Eligible:     true, Known: true, HostName: node,
		Addresses: map[string]netip.Addr{"default": netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", id+1))},
		State: inventory.ReplicaState{
			Preconfigured: true, JustCreated: true,
			Backing: []inventory.Backing{{Reservation: res, LVUUID: "lv-" + res, Usable: 1 << 30}},
		},
		Resource: inventory.Resource{
			Name: "rvol-db-1", Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.Inconsistent}},
			Peers: []inventory.Peer{{
				NodeID: -1, Connection: drbd.Connected,
				Devices: []inventory.PeerDevice{{Replication: drbd.Established, Disk: drbd.Inconsistent}},
			}},
		},
	}
	r.Name, r.UID, r.Reservations[0].Name = model.ReplicaName("db-1", id), fmt.Sprintf("uid%d", id), res
	if step != Preconfigure {
		r.State.AppliedRevision = 2
	}
	return r
}

// says describes an outcome: what it writes, then what it waits for.
func says(out Outcome) string {
	var parts []string
	for _, o := range out.Put {
		parts = append(parts, "put "+o.Key().String())
	}
	for _, o := range out.Delete {
		parts = append(parts, "delete "+o.Key().String())
	}
	if out.Restart {
		parts = append(parts, "restart")
	}
	if out.Wait != "" {
		parts = append(parts, "wait: "+out.Wait)
	}
	return strings.Join(parts, "; ")
}

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		step   string
		change func(*Input)
		want   string
	}{
		{"a new volume opens the transition", Preconfigure, func(in *Input) { in.Status.Formation = nil }, "put volume.status/db-1"},
		{"missing replicas are created with the next ids", Preconfigure, func(in *Input) {
			in.Replicas, in.Status.NextID = nil, 5
		}, "put replica/db-1/5; put replica/db-1/6; put volume.status/db-1"},
		{"the id of a replica that is not proven gone is not used again", Preconfigure, func(in *Input) {
			in.Replicas[1].DeletingSince = now
			in.Status.NextID = 1
		}, "put replica/db-1/2; put volume.status/db-1"},
		{"a replica that left the eligible nodes goes with its reservation", Preconfigure, func(in *Input) {
			in.Replicas[1].Eligible = false
		}, "put replica/db-1/1; put reservation/res1"},
		{"and is not waited for when its agent is silent", Preconfigure, func(in *Input) {
			in.Replicas[1].Eligible, in.Replicas[1].Known = false, false
		}, "put replica/db-1/1; put reservation/res1"},
		{"one too many: the least progressed goes", Preconfigure, func(in *Input) {
			in.Replicas = append(in.Replicas, replica(2, Preconfigure))
			in.Replicas[0].State.Preconfigured = false
		}, "put replica/db-1/0; put reservation/res0"},
		{"one too many and equally far: the highest id goes", Preconfigure, func(in *Input) {
			in.Replicas = append(in.Replicas, replica(2, Preconfigure))
		}, "put replica/db-1/2; put reservation/res2"},
		{"not scheduled: waits with the scheduler's words, for ever", Preconfigure, func(in *Input) {
			in.Replicas[1].Conditions = model.Conditions{{Type: "Scheduled", Status: model.False, Message: "2 excluded: node occupied"}}
			in.InStep = time.Hour
		}, "put volume.status/db-1; wait: replica 1 (n2) is not scheduled: 2 excluded: node occupied"},
		{"a slow tool is no reason to begin again", Preconfigure, func(in *Input) {
			in.Replicas[1].State = inventory.ReplicaState{Step: "lvcreate"}
			in.InStep = time.Hour
		}, "put volume.status/db-1; wait: replica 1 (n2) is being prepared: lvcreate"},
		{"an agent in trouble: waits within the minute", Preconfigure, func(in *Input) {
			in.Replicas[1].State = inventory.ReplicaState{Error: "lvcreate: exit status 5"}
			in.InStep = 59 * time.Second
		}, "put volume.status/db-1; wait: replica 1 (n2): lvcreate: exit status 5"},
		{"an agent in trouble: starts again after the minute", Preconfigure, func(in *Input) {
			in.Replicas[1].State = inventory.ReplicaState{Error: "lvcreate: exit status 5"}
			in.InStep = 60 * time.Second
		}, "put replica/db-1/0; put reservation/res0; put replica/db-1/1; put reservation/res1; put volume.status/db-1; restart"},
		{
			"no address on a network of the class", Preconfigure, func(in *Input) { in.Replicas[0].Addresses = nil },
			`put volume.status/db-1; wait: replica 0 (n1) has no address on network "default": give its agent --address default=IP`,
		},
		{
			"other storage than was reserved", Preconfigure, func(in *Input) { in.Replicas[0].State.Backing[0].Reservation = "x" },
			"put volume.status/db-1; wait: replica 0 (n1): its agent prepared other storage than was reserved",
		},
		{
			"backing too small", Preconfigure, func(in *Input) { in.Replicas[0].State.Backing[0].Usable = 1 },
			"put volume.status/db-1; wait: replica 0 (n1): device 0 has 1 usable bytes, 1073741824 are needed",
		},
		{
			"backing of unknown size", Preconfigure, func(in *Input) { in.Replicas[0].State.Backing[0].Usable = 0 },
			"put volume.status/db-1; wait: replica 0 (n1): device 0 has 0 usable bytes, 1073741824 are needed",
		},
		{"all prepared: all join in one write, with the secret", Preconfigure, func(*Input) {}, "put secret/volume/db-1; put volume.status/db-1"},
		{
			"members differ from replicas", EstablishConnectivity, func(in *Input) { in.Replicas[1].DeletingSince = now },
			"put volume.status/db-1; wait: members [0 1] are not the replicas [0]",
		},
		{
			"an older revision runs", EstablishConnectivity, func(in *Input) { in.Replicas[1].State.AppliedRevision = 1 },
			"put volume.status/db-1; wait: replica 1 (n2): waiting for revision 2, it runs 1",
		},
		{
			"not connected", EstablishConnectivity, func(in *Input) { in.Replicas[0].Resource.Peers[0].Connection = drbd.Connecting },
			"put volume.status/db-1; wait: replica 0 (n1) is not connected to replica 1 (n2): Connecting",
		},
		{"a disk that is not Inconsistent is not given a first generation", EstablishConnectivity, func(in *Input) {
			in.Replicas[1].Resource.Devices[0].Disk = drbd.UpToDate
		}, "put volume.status/db-1; wait: replica 1 (n2): disk is UpToDate, want Inconsistent"},
		{
			"metadata that was not just created", EstablishConnectivity, func(in *Input) { in.Replicas[1].State.JustCreated = false },
			"put volume.status/db-1; wait: replica 1 (n2): its metadata is not just created",
		},
		{"connected, Inconsistent, Established: bootstrap", EstablishConnectivity, func(*Input) {}, "put volume.status/db-1"},
		{
			"a member's node is given up", EstablishConnectivity, func(in *Input) { in.Replicas[1].Eligible, in.InStep = false, time.Minute },
			"put replica/db-1/0; put reservation/res0; put replica/db-1/1; put reservation/res1; put volume.status/db-1; restart",
		},
		{
			"nothing is granted once a peer is not connected any more", BootstrapData, func(in *Input) {
				in.Replicas[1].Resource.Peers[0].Connection = drbd.Connecting
			},
			"put volume.status/db-1; wait: replica 1 (n2) is not connected to replica 0 (n1): Connecting",
		},
		{
			"nothing is granted once a disk is not just created any more", BootstrapData, func(in *Input) { in.Replicas[1].State.JustCreated = false },
			"put volume.status/db-1; wait: replica 1 (n2): its metadata is not just created",
		},
		{
			"nothing is granted once the members are not the replicas", BootstrapData, func(in *Input) { in.Replicas[1].DeletingSince = now },
			"put volume.status/db-1; wait: members [0 1] are not the replicas [0]",
		},
		{"one operation on the lowest id", BootstrapData, func(*Input) {}, "put operation/db-1-formation-2"},
		{"an operation of an earlier formation is dropped", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationSucceeded)
			in.Operation.NewUUID.Revision = 1
		}, "delete operation/db-1-formation-2"},
		{"an operation with other parameters is waited for, then everything starts again", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationPending)
			in.Operation.NewUUID.LVUUIDs = []string{"swapped"}
		}, "put volume.status/db-1; wait: operation db-1-formation-2 has other parameters than this formation needs"},
		{"failed", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationFailed)
			in.Operation.Result = "(151) Need to be StandAlone"
		}, "put volume.status/db-1; wait: operation db-1-formation-2 failed: (151) Need to be StandAlone"},
		{"done, one copy is still Inconsistent", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationSucceeded)
			in.Replicas[0].Resource.Devices[0].Disk = drbd.UpToDate
		}, "put volume.status/db-1; wait: replica 1 (n2) is Inconsistent"},
		{"a report that is missing is waited for", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationSucceeded)
			in.Replicas[0].Known = false
		}, "put volume.status/db-1; wait: replica 0 (n1): its agent has not reported"},
		{"all UpToDate, one Primary still: waited for", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationSucceeded)
			for i := range in.Replicas {
				in.Replicas[i].Resource.Devices[0].Disk = drbd.UpToDate
			}
			in.Replicas[0].Resource.Role = drbd.Primary
		}, "put volume.status/db-1; wait: replica 0 (n1) is Primary still"},
		{"all UpToDate: formed", BootstrapData, func(in *Input) {
			in.Operation = granted(*in, model.OperationSucceeded)
			for i := range in.Replicas {
				in.Replicas[i].Resource.Devices[0].Disk = drbd.UpToDate
			}
		}, "put volume.status/db-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := forming(2, tt.step)
			tt.change(&in)
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

func granted(in Input, phase model.OperationPhase) *model.Operation {
	op := operation(in, diskful(active(in)))
	op.Phase = phase
	return op
}

func TestAFormedVolumeIsNeverFormedAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []string{Preconfigure, EstablishConnectivity, BootstrapData} {
		in := forming(2, step)
		in.Status.Formed = true
		if out, err := Next(in); !errors.Is(err, model.ErrForbidden) || out.Changed() {
			t.Errorf("%s: got %s, %v; want a refusal", step, says(out), err)
		}
	}
}

func TestARestartKeepsTheRevisionAndNothingElse(t *testing.T) {
	t.Parallel()
	in := forming(2, EstablishConnectivity)
	in.Operation = granted(in, model.OperationPending)
	in.OldSecret = &model.Secret{Meta: model.Meta{Name: model.VolumeSecret("db-1")}}
	in.Replicas[0].State.AppliedRevision = 0
	in.InStep = time.Hour
	out, err := Next(in)
	if err != nil || !out.Restart {
		t.Fatalf("got %s, %v; want a restart", says(out), err)
	}
	st := out.Put[len(out.Put)-1].(*model.VolumeStatus)
	if st.Datamesh.Revision != 2 || st.Datamesh.Members != nil || st.Configuration != nil || st.Formation != nil || st.Restarts != 1 {
		t.Errorf("status after the restart: %+v", st)
	}
	if got := says(Outcome{Delete: out.Delete}); got != "delete operation/db-1-formation-2; delete secret/volume/db-1" {
		t.Error(got)
	}
	st.Configuration = in.Status.Configuration // taken anew before the next try
	in.Status = st
	if again := start(in); again.Put[0].(*model.VolumeStatus).Datamesh.Revision != 3 {
		t.Error("the revision does not count on over a restart")
	}
}

func TestTheFormedStatusIsWhatUseRequires(t *testing.T) {
	t.Parallel()
	in := forming(2, BootstrapData)
	in.Operation = granted(in, model.OperationSucceeded)
	for i := range in.Replicas {
		in.Replicas[i].Resource.Devices[0].Disk = drbd.UpToDate
	}
	out, err := Next(in)
	if err != nil {
		t.Fatal(err)
	}
	st := out.Put[0].(*model.VolumeStatus)
	if !st.Formed || st.Formation != nil {
		t.Errorf("formed %v, formation %v; want formed and no formation left", st.Formed, st.Formation)
	}
}

func TestHowTheFirstGenerationIsMade(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Input)
		clear  bool
		limit  time.Duration
	}{
		{"thin pools that zero: clear", func(*Input) {}, true, time.Minute},
		{"thin pools that do not zero: sync", func(in *Input) { in.Zeroing = func(model.PoolID) bool { return false } }, false, time.Minute + 85*time.Second},
		{"thick: sync", func(in *Input) { in.Status.Configuration.PoolType = model.LVM }, false, time.Minute + 85*time.Second},
		{"thick that was zeroed: clear", func(in *Input) {
			in.Status.Configuration.PoolType, in.Status.Configuration.Wipe = model.LVM, "zero"
		}, true, time.Minute},
		{"thick that is trusted to be zeroed: clear", func(in *Input) {
			in.Status.Configuration.PoolType, in.Status.Configuration.TrustZeroed = model.LVM, true
		}, true, time.Minute},
		{"a single thick copy: clear, there is nobody to sync", func(in *Input) {
			in.Status.Configuration.PoolType, in.Replicas = model.LVM, in.Replicas[:1]
		}, true, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := forming(2, BootstrapData)
			tt.change(&in)
			op := operation(in, diskful(active(in)))
			if op.NewUUID.ClearBitmap != tt.clear || timeout(in, op) != tt.limit {
				t.Errorf("clear-bitmap %v within %v, want %v within %v", op.NewUUID.ClearBitmap, timeout(in, op), tt.clear, tt.limit)
			}
		})
	}
}

func TestQuorumIsSetOnDRBD9Only(t *testing.T) {
	t.Parallel()
	for major, want := range map[string]int{"8.4": 0, "9": 2} {
		in := forming(2, Preconfigure)
		in.Status.DRBD = major
		in.Layout = layout.Formula(0, 1)
		out, err := Next(in)
		if err != nil {
			t.Fatal(err)
		}
		st := out.Put[len(out.Put)-1].(*model.VolumeStatus)
		if got := st.Datamesh.Quorum; got != want {
			t.Errorf("DRBD %s: quorum %d, want %d", major, got, want)
		}
		if got := st.Datamesh.Members[1].Addresses["default"].String(); got != "10.0.0.2:17000" {
			t.Errorf("DRBD %s: member 1 listens on %s", major, got)
		}
	}
}

func TestRestartsWaitLongerEachTime(t *testing.T) {
	t.Parallel()
	want := []time.Duration{0, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 2 * time.Minute, 2 * time.Minute}
	for n, d := range want {
		if got := Delay(n); got != d {
			t.Errorf("restart %d waits %v, want %v", n, got, d)
		}
	}
	if got := Delay(1000); got != 2*time.Minute {
		t.Errorf("restart 1000 waits %v", got)
	}
}

func TestAStepIsNotSpokenOfUntilItHasLastedAWhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lasted, again time.Duration
		said          bool
	}{
		{0, quiet, false},
		{quiet / 2, quiet / 2, false},
		{-time.Hour, quiet, false}, // the clock was set back
		{quiet, stepTimeout, true},
	} {
		in := forming(2, Preconfigure)
		in.Replicas[0].State.Preconfigured = false
		in.Status.Formation.Steps[0].StartedAt = now.Add(-c.lasted)
		in.Now = now
		out, err := Next(in)
		if err != nil {
			t.Fatal(err)
		}
		if out.Changed() != c.said || out.Again != c.again || out.Wait == "" {
			t.Errorf("after %s: writes %t, looks again after %s, waits for %q", c.lasted, out.Changed(), out.Again, out.Wait)
		}
	}
}
