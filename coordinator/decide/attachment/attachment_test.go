package attachment_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/attachment"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

var start = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// world is a formed volume with a copy on n1 and one on n2, connected and well, on DRBD 8.4.
func world() attachment.Input {
	vs := &model.VolumeStatus{Formed: true, DRBD: "8.4", Configuration: &model.Configuration{FTT: 1}, Datamesh: model.Datamesh{Revision: 5}}
	in := attachment.Input{Volume: &model.Volume{MaxAttachments: 1}, Status: vs}
	in.Volume.Name, vs.Name, vs.Revision = "db-1", "db-1", 50
	for id, node := range []string{"n1", "n2"} {
		r := attachment.Replica{Replica: &model.Replica{Volume: "db-1", ID: id, Type: model.Diskful, Node: node}, Said: well(drbd.Secondary)}
		r.State.AppliedRevision = 5
		in.Replicas = append(in.Replicas, r)
		vs.Datamesh.Members = append(vs.Datamesh.Members, model.DatameshMember{ID: id, Type: model.Diskful, Node: node})
	}
	return in
}

func well(role drbd.Role) attachment.Said {
	return attachment.Said{Known: true, Accepted: 100, Resource: inventory.Resource{
		Role: role, Devices: []inventory.Device{{Disk: drbd.UpToDate, Quorum: true}},
		Peers: []inventory.Peer{{NodeID: -1, Connection: drbd.Connected}},
	}}
}

// use adds an attachment on a node, made so many seconds after the start.
func use(in *attachment.Input, node string, second int, change ...func(*attachment.Use)) {
	u := attachment.Use{Attachment: &model.Attachment{Volume: "db-1", Node: node}, Said: well(drbd.Secondary)}
	u.Name, u.Revision, u.CreatedAt = "db-1/"+node, 60, start.Add(time.Duration(second)*time.Second)
	for _, f := range change {
		f(&u)
	}
	in.Uses = append(in.Uses, u)
}

func granted(u *attachment.Use) { u.Granted, u.Resource.Role = true, drbd.Primary }
func ending(u *attachment.Use)  { u.DeletingSince = start }
func secondary(u *attachment.Use) {
	u.Resource.Role = drbd.Secondary
}

// written lists what an outcome writes, a line each.
func written(out attachment.Outcome) []string {
	var lines []string
	for _, o := range out.Put {
		switch o := o.(type) {
		case *model.Attachment:
			switch {
			case o.Granted && o.Reason == "" && !o.Deleting():
				lines = append(lines, "granted "+o.Node)
			default:
				lines = append(lines, fmt.Sprintf("%s %s: %s", o.Node, o.Reason, o.Message))
			}
		case *model.VolumeStatus:
			sole := "nobody"
			if o.Sole != nil {
				sole = fmt.Sprint(*o.Sole)
			}
			lines = append(lines, fmt.Sprintf("volume: two %t, revision %d, alone %s", o.Datamesh.TwoPrimaries, o.Datamesh.Revision, sole))
		}
	}
	for _, o := range out.Delete {
		lines = append(lines, "gone "+o.Key().Name)
	}
	if out.AddAccess != "" {
		lines = append(lines, "add access on "+out.AddAccess)
	}
	if out.RemoveAccess != nil {
		lines = append(lines, fmt.Sprintf("remove access %d", *out.RemoveAccess))
	}
	slices.Sort(lines)
	return lines
}

func TestNext(t *testing.T) {
	t.Parallel()
	nine := func(in *attachment.Input) {
		in.Status.DRBD = "9"
		in.Status.Configuration.VolumeAccess = model.AccessPreferablyLocal
	}
	third := func(in *attachment.Input, typ model.ReplicaType, member bool) {
		nine(in)
		in.Replicas = append(in.Replicas, attachment.Replica{Replica: &model.Replica{ID: 2, Type: typ, Node: "n3", ForUse: typ == model.Access}, Said: well(drbd.Secondary)})
		if member {
			in.Status.Datamesh.Members = append(in.Status.Datamesh.Members, model.DatameshMember{ID: 2, Type: typ, Node: "n3"})
		}
	}
	about := func(in *attachment.Input, id int, step string) {
		in.Status.Transitions = []model.Transition{{Steps: []model.TransitionStep{{Name: step, Replica: &id, Status: model.StepActive}}}}
	}
	two := func(in *attachment.Input) { in.Volume.MaxAttachments = 2 }
	open := func(in *attachment.Input) {
		two(in)
		in.Status.Datamesh.TwoPrimaries = true
	}
	for _, c := range []struct {
		says   string
		change func(*attachment.Input)
		want   []string
	}{
		{"nobody asks", func(*attachment.Input) {}, nil},
		{"one asks", func(in *attachment.Input) { use(in, "n1", 0) }, []string{"granted n1"}},
		{
			"two ask for the only slot: who asked first", func(in *attachment.Input) { use(in, "n1", 2); use(in, "n2", 1) },
			[]string{"granted n2", "n1 Pending: another attachment has the slot"},
		},
		{
			"it is in use", func(in *attachment.Input) { use(in, "n1", 0, granted); use(in, "n2", 1) },
			[]string{"n2 Pending: another attachment has the slot"},
		},
		{
			"its user is leaving, and is still Primary", func(in *attachment.Input) { use(in, "n1", 0, granted, ending); use(in, "n2", 1) },
			[]string{"n2 Pending: another attachment has the slot"},
		},
		{"its user is leaving, and says nothing", func(in *attachment.Input) {
			use(in, "n1", 0, granted, ending, secondary, func(u *attachment.Use) { u.Known = false })
		}, nil},
		{"its user is leaving, and has not read that yet", func(in *attachment.Input) {
			use(in, "n1", 0, granted, ending, secondary, func(u *attachment.Use) { u.Accepted = 59 })
		}, nil},
		{
			"its user has left", func(in *attachment.Input) { use(in, "n1", 0, granted, ending, secondary); use(in, "n2", 1) },
			[]string{"gone db-1/n1", "granted n2"},
		},
		{"its user may not leave: it is mounted", func(in *attachment.Input) {
			use(in, "n1", 0, granted, ending, func(u *attachment.Use) { u.State.ErrorClass, u.State.Error = "in-use", "mounted on /m" })
		}, []string{"n1 InUse: mounted on /m"}},
		{"who was told so a while ago", func(in *attachment.Input) {
			use(in, "n1", 0, granted, func(u *attachment.Use) { u.Reason, u.Kept = attachment.InUse, time.Minute })
		}, []string{"granted n1"}},

		{
			"a second user: first the copies must bear two", func(in *attachment.Input) { two(in); use(in, "n1", 0, granted); use(in, "n2", 1) },
			[]string{"n2 Pending: waiting until replica 0 on node n1 allows two Primaries", "volume: two true, revision 6, alone nobody"},
		},
		{"not all of them do", func(in *attachment.Input) {
			open(in)
			in.Replicas[1].State.AppliedRevision = 4
			use(in, "n1", 0, granted)
			use(in, "n2", 1)
		}, []string{"n2 Pending: waiting until replica 1 on node n2 allows two Primaries"}},
		{"one of them says nothing, and the other is connected to it", func(in *attachment.Input) {
			open(in)
			in.Replicas[1].Known = false
			use(in, "n1", 0, granted)
			use(in, "n2", 1)
		}, []string{"n2 Pending: waiting until replica 1 on node n2 allows two Primaries"}},
		{"all of them do", func(in *attachment.Input) { open(in); use(in, "n1", 0, granted); use(in, "n2", 1) }, []string{"granted n2"}},
		{"a third user", func(in *attachment.Input) {
			open(in)
			use(in, "n1", 0, granted)
			use(in, "n2", 0, granted)
			use(in, "n3", 1)
			in.Replicas = append(in.Replicas, attachment.Replica{Replica: &model.Replica{ID: 2, Type: model.Diskful, Node: "n3"}})
		}, []string{"n3 Pending: another attachment has the slot"}},
		{"both use it", func(in *attachment.Input) { open(in); use(in, "n1", 0, granted); use(in, "n2", 1, granted) }, nil},
		{"one is leaving, and may be Primary", func(in *attachment.Input) { open(in); use(in, "n1", 0, granted, ending); use(in, "n2", 1, granted) }, nil},
		{"one has left: the window closes", func(in *attachment.Input) {
			open(in)
			use(in, "n1", 0, granted, ending, secondary)
			use(in, "n2", 1, granted)
		}, []string{"gone db-1/n1", "volume: two false, revision 6, alone nobody"}},

		{
			"deleting", func(in *attachment.Input) { in.Volume.DeletingSince = start; use(in, "n1", 0) },
			[]string{"n1 WaitingForReplicatedVolume: the volume is being deleted"},
		},
		{
			"not formed", func(in *attachment.Input) { in.Status.Formed = false; use(in, "n1", 0) },
			[]string{"n1 WaitingForReplicatedVolume: the volume is not formed yet"},
		},
		{
			"stopped", func(in *attachment.Input) { in.Volume.Stopped = true; use(in, "n1", 0) },
			[]string{"n1 WaitingForReplicatedVolume: the volume is stopped: rvol volume start db-1"},
		},
		{
			"on a fenced node", func(in *attachment.Input) { use(in, "n1", 0, func(u *attachment.Use) { u.Fenced = true }) },
			[]string{"n1 NodeNotEligible: node n1 is fenced"},
		},
		{
			"without a replica on DRBD 8.4", func(in *attachment.Input) { use(in, "n3", 0) },
			[]string{"n3 UnsupportedByDRBD84: there is no copy of it on node n3, and DRBD 8.4 cannot use one over the network"},
		},
		{
			"without a copy, of a class that wants one there", func(in *attachment.Input) {
				third(in, model.TieBreaker, true)
				in.Status.Configuration.VolumeAccess = model.AccessLocal
				use(in, "n3", 0)
			},
			[]string{"n3 VolumeAccessLocalityNotSatisfied: there is no copy of it on node n3, and its class wants volumes to be used where a copy is (volume access Local)"},
		},
		{"on a tie-breaker", func(in *attachment.Input) { third(in, model.TieBreaker, true); use(in, "n3", 0) }, []string{"granted n3"}},
		{"without a replica", func(in *attachment.Input) { nine(in); use(in, "n3", 0) }, []string{"n3 WaitingForReplica: an Access replica is made on node n3"}},
		{"without a replica, which was said", func(in *attachment.Input) {
			nine(in)
			use(in, "n3", 0, func(u *attachment.Use) {
				u.Reason, u.Message = attachment.NoReplica, "an Access replica is made on node n3"
			})
		}, []string{"add access on n3"}},
		{"without a replica, while the slot is taken", func(in *attachment.Input) {
			nine(in)
			use(in, "n1", 0, granted)
			use(in, "n3", 1)
		}, []string{"n3 Pending: another attachment has the slot"}},
		{"without a replica, and a copy is still to be placed", func(in *attachment.Input) {
			nine(in)
			in.Replicas = append(in.Replicas, attachment.Replica{Replica: &model.Replica{ID: 2, Type: model.Diskful}})
			use(in, "n3", 0)
		}, []string{"n3 WaitingForReplica: a copy is being placed, if there is room on node n3"}},
		{"an Access replica that is no member yet", func(in *attachment.Input) {
			third(in, model.Access, false)
			use(in, "n3", 0)
		}, []string{"n3 WaitingForReplica: replica 2 on node n3 is being made"}},
		{"an Access replica that is a member", func(in *attachment.Input) { third(in, model.Access, true); use(in, "n3", 0) }, []string{"granted n3"}},
		{"an Access replica that is to go", func(in *attachment.Input) {
			third(in, model.Access, true)
			about(in, 2, "LeaveMesh")
			use(in, "n3", 0)
		}, []string{"n3 WaitingForReplica: replica 2 on node n3 is being removed"}},
		{"an Access replica that is still being removed", func(in *attachment.Input) {
			third(in, model.Access, false)
			in.Replicas[2].DeletingSince = start
			use(in, "n3", 0)
		}, []string{"n3 WaitingForReplica: the replica that was on node n3 is still being removed"}},
		{"an Access replica in use", func(in *attachment.Input) { third(in, model.Access, true); use(in, "n3", 0, granted) }, nil},
		{"an Access replica that somebody wanted for itself", func(in *attachment.Input) {
			third(in, model.Access, true)
			in.Replicas[2].ForUse = false
		}, nil},
		{"an Access replica that nobody uses any more", func(in *attachment.Input) { third(in, model.Access, true) }, []string{"remove access 2"}},
		{"an Access replica that nobody uses any more, and a change is about it", func(in *attachment.Input) {
			third(in, model.Access, true)
			about(in, 2, "JoinMesh")
		}, nil},

		{"the other copy is not connected: it may not take over from now on", func(in *attachment.Input) {
			use(in, "n1", 0, func(u *attachment.Use) { u.Resource.Peers = nil })
		}, []string{"granted n1", "volume: two false, revision 5, alone 0"}},
		{
			"the other copy went on alone", func(in *attachment.Input) { in.Status.GoesAlone(1); use(in, "n1", 0) },
			[]string{"n1 Pending: replica 1 goes on alone: it has writes that this one lacks"},
		},
		{
			"no report of the copy", func(in *attachment.Input) { use(in, "n1", 0, func(u *attachment.Use) { u.Known = false }) },
			[]string{"n1 Pending: no report of its copy from node n1"},
		},
		{"a copy that is behind, and alone", func(in *attachment.Input) {
			use(in, "n1", 0, func(u *attachment.Use) { u.Resource.Peers, u.Resource.Devices[0].Disk = nil, drbd.Outdated })
		}, []string{"n1 Pending: the copy on node n1 is Outdated, and the other one is not connected"}},
	} {
		in := world()
		c.change(&in)
		if diff := cmp.Diff(c.want, written(attachment.Next(in))); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.says, diff)
		}
	}
}

// lost is a volume on DRBD 9 whose user on n1 is leaving and says nothing; n2 and its
// tie-breaker have quorum without it.
func lost() attachment.Input {
	in := world()
	in.Status.DRBD, in.Status.Datamesh.Quorum = "9", 2
	in.Replicas[0].Said = attachment.Said{}
	in.Replicas[1].Resource.Peers = []inventory.Peer{{NodeID: 0, Connection: drbd.Connecting}, {NodeID: 2, Connection: drbd.Connected}}
	in.Replicas = append(in.Replicas, attachment.Replica{Replica: &model.Replica{ID: 2, Type: model.TieBreaker, Node: "n3"}, Said: well(drbd.Secondary)})
	in.Replicas[2].Resource.Peers = []inventory.Peer{{NodeID: 0, Connection: drbd.Connecting}, {NodeID: 1, Connection: drbd.Connected}}
	in.Status.Datamesh.Members = append(in.Status.Datamesh.Members, model.DatameshMember{ID: 2, Type: model.TieBreaker, Node: "n3"})
	use(&in, "n1", 0, granted, ending, func(u *attachment.Use) { u.Said = attachment.Said{} })
	return in
}

func TestALostUserIsOutvotedByQuorumAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says   string
		change func(*attachment.Input)
		want   []string
	}{
		{"the others have quorum", func(*attachment.Input) {}, []string{"gone db-1/n1"}},
		{"the other copy has just lost its Primary", func(in *attachment.Input) { in.Replicas[1].Resource.Devices[0].Disk = drbd.Consistent }, []string{"gone db-1/n1"}},
		{"the others have none", func(in *attachment.Input) { in.Replicas[1].Resource.Devices[0].Quorum = false }, nil},
		{"the other copy is behind", func(in *attachment.Input) { in.Replicas[1].Resource.Devices[0].Disk = drbd.Inconsistent }, nil},
		{"the other copy says nothing", func(in *attachment.Input) { in.Replicas[1].Known = false }, nil},
		{"the kernels see each other", func(in *attachment.Input) { in.Replicas[1].Resource.Peers[0].Connection = drbd.Connected }, nil},
		{"the tie-breaker sees it", func(in *attachment.Input) { in.Replicas[2].Resource.Peers[0].Connection = drbd.Connected }, nil},
		{"the tie-breaker says nothing", func(in *attachment.Input) { in.Replicas[2].Known = false }, nil},
		{"quorum is off", func(in *attachment.Input) { in.Status.Datamesh.Quorum = 0 }, nil},
		{"DRBD 8.4", func(in *attachment.Input) { in.Status.DRBD = "8.4" }, nil},
		{"nobody asked to detach it", func(in *attachment.Input) { in.Uses[0].DeletingSince = time.Time{} }, nil},
	} {
		in := lost()
		c.change(&in)
		if diff := cmp.Diff(c.want, written(attachment.Next(in))); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.says, diff)
		}
	}
}

// A copy that is off cannot confirm, and need not: it is told before it connects again.
func TestACopyThatNobodyReachesHoldsNoMigrationUp(t *testing.T) {
	t.Parallel()
	in := world()
	in.Volume.MaxAttachments, in.Status.DRBD, in.Status.Datamesh.TwoPrimaries = 2, "9", true
	for i := range in.Replicas {
		in.Replicas[i].Resource.Peers = []inventory.Peer{{NodeID: 1 - i, Connection: drbd.Connected}, {NodeID: 2, Connection: drbd.Connecting}}
	}
	in.Replicas = append(in.Replicas, attachment.Replica{Replica: &model.Replica{ID: 2, Type: model.Diskful, Node: "n3"}})
	in.Status.Datamesh.Members = append(in.Status.Datamesh.Members, model.DatameshMember{ID: 2, Type: model.Diskful, Node: "n3"})
	use(&in, "n1", 0, granted)
	use(&in, "n2", 1)
	if diff := cmp.Diff([]string{"granted n2"}, written(attachment.Next(in))); diff != "" {
		t.Error(diff)
	}
	in.Replicas[0].Resource.Peers[1].Connection = drbd.Connected
	if got := strings.Join(written(attachment.Next(in)), "\n"); !strings.Contains(got, "waiting until replica 2 on node n3") {
		t.Errorf("with n3 connected: %s", got)
	}
}
