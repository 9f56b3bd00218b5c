package repair_test

import (
	"testing"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// volume has three good copies, or two and a tie-breaker, that have lasted for ever.
func volume(ftt, gmdr int) repair.Volume {
	l := layout.Formula(ftt, gmdr)
	v := repair.Volume{
		Name: "db", Layout: l, RepairAfter: time.Hour, Rolling: true, Turn: true,
		Lasted: func(int, repair.Cause) time.Duration { return 1000 * time.Hour },
	}
	for id := range l.Replicas() {
		r := repair.Replica{
			Replica: &model.Replica{Volume: "db", ID: id, Type: model.Diskful, Node: "n" + string(rune('0'+id)), VG: "vg0", ThinPool: "tp"},
			Part:    model.Diskful, NodeReady: true, Known: true, Up: true, Disk: drbd.UpToDate, Eligible: true,
		}
		r.Name = model.ReplicaName("db", id)
		if id >= l.Diskful {
			r.Type, r.Part, r.Disk = model.TieBreaker, model.TieBreaker, drbd.Diskless
		}
		v.Replicas = append(v.Replicas, r)
	}
	return v
}

func last(change func(*repair.Replica)) func(*repair.Volume) {
	return func(v *repair.Volume) { change(&v.Replicas[len(v.Replicas)-1]) }
}

func first(change func(*repair.Replica)) func(*repair.Volume) {
	return func(v *repair.Volume) { change(&v.Replicas[0]) }
}

func all(changes ...func(*repair.Volume)) func(*repair.Volume) {
	return func(v *repair.Volume) {
		for _, c := range changes {
			c(v)
		}
	}
}

func away(r *repair.Replica) {
	r.NodeReady, r.NodeSays, r.Known, r.Up, r.Eligible = false, "nothing heard for 20s", false, false, false
}

func detached(r *repair.Replica)  { r.Disk = drbd.Diskless }
func misplaced(r *repair.Replica) { r.Eligible = false }

func since(d time.Duration) func(*repair.Volume) {
	return func(v *repair.Volume) { v.Lasted = func(int, repair.Cause) time.Duration { return d } }
}

func TestWhatIsWrongAndWhatIsDoneAboutIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		ftt, gmdr int
		change    func(*repair.Volume)
		cause     repair.Cause
		do        repair.Action
		reason    string
		says      string
		again     time.Duration
	}{
		{"nothing", 1, 1, all(), "", "", "", "", 0},
		{
			"a node is away, not yet for long", 1, 1, all(last(away), since(50*time.Minute)), repair.NodeNotReady, "", repair.WaitingForReturn,
			"replica db/2: node n2 is not Ready: nothing heard for 20s; it is replaced when that has lasted 1h0m0s", 10 * time.Minute,
		},
		{
			"a node has been away for long", 1, 1, last(away), repair.NodeNotReady, repair.Repair, "",
			"replica db/2: node n2 is not Ready: nothing heard for 20s", 0,
		},
		{
			"its class repairs nothing", 1, 1, all(last(away), func(v *repair.Volume) { v.RepairAfter = 0 }), repair.NodeNotReady, "", repair.Disabled,
			"replica db/2: node n2 is not Ready: nothing heard for 20s; its class repairs nothing by itself (repair-after 0)", 0,
		},
		{
			"another change is under way", 1, 1, all(last(away), func(v *repair.Volume) { v.Busy = "grow db" }), repair.NodeNotReady, "", repair.AwaitFailover,
			"replica db/2: node n2 is not Ready: nothing heard for 20s; grow db is under way", 0,
		},
		{"a node that is NotReady reports: it is about to be Ready", 1, 1, last(func(r *repair.Replica) { r.NodeReady = false }), "", "", "", "", 0},
		{"a node that is Ready does not report: nothing is known", 1, 1, last(func(r *repair.Replica) { r.Known, r.Up, r.Disk = false, false, "" }), "", "", "", "", 0},
		{
			"the tie-breaker's node is away", 1, 0, last(away), repair.NodeNotReady, repair.Repair, "",
			"replica db/2: node n2 is not Ready: nothing heard for 20s", 0,
		},
		{
			"a node that only used it is away", 1, 0, func(v *repair.Volume) {
				user := v.Replicas[2]
				user.Replica, user.Part = &model.Replica{ID: 3, Type: model.Access, Node: "n3"}, model.Access
				user.Name = "db/3"
				away(&user)
				v.Replicas = append(v.Replicas, user)
			},
			repair.NodeNotReady, "", repair.Blocked,
			"replica db/3: node n3 is not Ready: nothing heard for 20s; it has no data: when the node is known to be off, `rvol node fence n3` and `rvol replica remove db/3 --force`", 0,
		},

		{
			"a disk was detached a moment ago", 1, 1, all(last(detached), since(time.Minute)), repair.DiskFailed, "", repair.WaitingForReturn,
			"replica db/2: DRBD on node n2 has detached its disk, which is Diskless; it is replaced when that has lasted 5m0s", 4 * time.Minute,
		},
		{
			"a disk failed", 1, 1, last(func(r *repair.Replica) { r.Disk = drbd.Failed }), repair.DiskFailed, repair.Replace, "",
			"replica db/2: DRBD on node n2 has detached its disk, which is Failed", 0,
		},
		{
			"a class that repairs sooner", 1, 1, all(last(detached), since(time.Minute), func(v *repair.Volume) { v.RepairAfter = time.Minute }),
			repair.DiskFailed, repair.Replace, "", "replica db/2: DRBD on node n2 has detached its disk, which is Diskless", 0,
		},
		{
			"a pool that is full is no failed disk", 1, 1, last(func(r *repair.Replica) { detached(r); r.Full = "data of thin pool tp reached 95 %" }),
			repair.PoolFull, "", repair.Blocked,
			"replica db/2: DRBD on node n2 has detached its disk: data of thin pool tp reached 95 %: extend it, on n2: lvextend vg0/tp; the copy is not replaced for that, it is attached again when there is room", 0,
		},
		{"a full pool under a disk that serves", 1, 1, last(func(r *repair.Replica) { r.Full = "data of thin pool tp reached 95 %" }), "", "", "", "", 0},
		{"a member on its way to a disk", 1, 1, last(func(r *repair.Replica) { r.Part = model.LiminalDiskful; detached(r) }), "", "", "", "", 0},
		{"one that is being taken away", 1, 2, last(func(r *repair.Replica) { r.Leaving = true; detached(r) }), repair.CopyMissing, repair.Add, "", "it has 3 of 4 copies", 0},
		{
			"its volume group is gone, DRBD has no disk", 1, 1, last(func(r *repair.Replica) { detached(r); r.Gone = repair.GroupGone }),
			repair.StorageGone, repair.Replace, "", "replica db/2: its volume group on node n2 is gone", 0,
		},
		{
			"its thin pool is gone, DRBD is not up", 1, 1, last(func(r *repair.Replica) { r.Up = false; r.Gone = repair.PoolGone }),
			repair.StorageGone, repair.Repair, "", "replica db/2: its thin pool on node n2 is gone", 0,
		},
		{
			"somebody removed its volume", 1, 1, last(func(r *repair.Replica) { r.Up = false; r.Gone = repair.VolumeGone }),
			repair.StorageGone, repair.Repair, "", "replica db/2: its logical volume on node n2 is gone", 0,
		},
		{"LVM does not show what DRBD has open", 1, 1, last(func(r *repair.Replica) { r.Gone = repair.GroupGone }), "", "", "", "", 0},
		{"DRBD is not up, and its volume is there", 1, 1, last(func(r *repair.Replica) { r.Up = false }), "", "", "", "", 0},
		{
			"the machine was set up anew", 1, 1, last(func(r *repair.Replica) { r.Up, r.Gone, r.Reinstalled = false, repair.GroupGone, true }),
			repair.NodeReinstalled, repair.Repair, "", "replica db/2: node n2 was set up anew, and its volume group is not there any more", 0,
		},

		{"a copy is missing", 1, 1, func(v *repair.Volume) { v.Replicas = v.Replicas[:2] }, repair.CopyMissing, repair.Add, "", "it has 2 of 3 copies", 0},
		{
			"a copy has been missing for a moment", 1, 1, all(func(v *repair.Volume) { v.Replicas = v.Replicas[:2] }, since(0)), repair.CopyMissing, "", repair.WaitingForReturn,
			"it has 2 of 3 copies; one is made when that has lasted 5m0s", 5 * time.Minute,
		},
		{
			"the tie-breaker is missing", 1, 0, func(v *repair.Volume) { v.Replicas = v.Replicas[:2] }, repair.TieBreakerMissing, repair.AddTieBreaker, "",
			"it has 0 of 1 tie-breakers", 0,
		},

		{
			"a copy is where it may not be", 1, 1, last(misplaced), repair.NotEligible, repair.Replace, "",
			"replica db/2 is on node n2, which is no place of its class any more", 0,
		},
		{"for a moment: its node has just come back", 1, 1, all(last(misplaced), since(5*time.Second)), "", "", "", "", 10 * time.Second},
		{"its class leaves it there", 1, 1, all(last(misplaced), func(v *repair.Volume) { v.Rolling = false }), "", "", "", "", 0},
		{
			"others are first", 1, 1, all(last(misplaced), func(v *repair.Volume) { v.Turn = false }), repair.NotEligible, "", repair.AwaitFailover,
			"replica db/2 is on node n2, which is no place of its class any more; other volumes of its class are moved first", 0,
		},
		{
			"a tie-breaker is where it may not be: another first", 1, 0, last(misplaced), repair.NotEligible, repair.AddTieBreaker, "",
			"replica db/2 is on node n2, which is no place of its class any more", 0,
		},
		{
			"and there is another", 1, 0, all(last(misplaced), func(v *repair.Volume) {
				more := v.Replicas[2]
				more.Replica = &model.Replica{ID: 3, Type: model.TieBreaker, Node: "n3"}
				more.Eligible = true
				v.Replicas = append(v.Replicas, more)
			}), repair.NotEligible, repair.RemoveVote, "", "replica db/2 is on node n2, which is no place of its class any more", 0,
		},

		{
			"a lost disk comes before a lost node", 1, 1, all(first(away), last(detached)), repair.DiskFailed, repair.Replace, "",
			"replica db/2: DRBD on node n2 has detached its disk, which is Diskless", 0,
		},
		{
			"what is due comes before what is urgent and waits", 1, 1, all(first(away), last(detached), func(v *repair.Volume) {
				v.Lasted = func(id int, _ repair.Cause) time.Duration { return time.Duration(1-min(id, 1)) * time.Hour }
			}), repair.NodeNotReady, repair.Repair, "", "replica db/0: node n0 is not Ready: nothing heard for 20s", 0,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := volume(tc.ftt, tc.gmdr)
			tc.change(&v)
			got := repair.Decide(v)
			if got.Cause != tc.cause || got.Do != tc.do || got.Reason != tc.reason || got.Why != tc.says || got.Again != tc.again {
				t.Errorf("got  %q %q %q %q, again %s\nwant %q %q %q %q, again %s",
					got.Cause, got.Do, got.Reason, got.Why, got.Again, tc.cause, tc.do, tc.reason, tc.says, tc.again)
			}
		})
	}
}

func TestHowMuchIsRepairedAtATime(t *testing.T) {
	t.Parallel()
	l := repair.Limits{Cluster: 3, PerNode: 2}
	for _, tc := range []struct {
		name    string
		running int
		byNode  map[string]int
		want    string
	}{
		{"nothing is under way", 0, nil, ""},
		{"as many as may be", 3, nil, "3 repairs are under way, 3 at a time are allowed"},
		{"as many as a node bears", 2, map[string]int{"b": 2}, "node b takes part in 2 repairs, 2 at a time are allowed"},
		{"on other nodes", 2, map[string]int{"c": 2}, ""},
	} {
		if got := l.Room(tc.running, tc.byNode, []string{"a", "b"}); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
