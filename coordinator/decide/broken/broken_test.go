package broken_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/broken"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// copyOf is one of two copies that were each written alone.
func copyOf(id int, current drbd.UUID) broken.Copy {
	r := &model.Replica{Volume: "db", ID: id, Type: model.Diskful, Node: string(rune('a' + id))}
	r.Name = model.ReplicaName("db", id)
	return broken.Copy{
		Replica: r, Known: true, Up: true,
		Resource: inventory.Resource{Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.UpToDate, Quorum: true}}},
		State: inventory.ReplicaState{Apart: []inventory.Apart{{
			Peer: 1 - id, Since: now.Add(-time.Hour),
			Devices: []inventory.ApartDevice{{Generations: drbd.Generations{Current: current, Bitmap: 0x100}, OutOfSync: 4096}},
		}}},
	}
}

func torn(version string) broken.Input {
	in := broken.Input{Volume: &model.Volume{}, Status: &model.VolumeStatus{Formed: true, DRBD: version}, Now: now}
	in.Volume.Name, in.Status.Name = "db", "db"
	for id := range 2 {
		in.Copies = append(in.Copies, copyOf(id, drbd.UUID(0x200+0x100*id)))
		in.Status.Datamesh.Members = append(in.Status.Datamesh.Members, model.DatameshMember{ID: id, Type: model.Diskful, Node: string(rune('a' + id))})
	}
	return in
}

// tell lists what would be written, or why nothing is.
func tell(out broken.Outcome, err error) string {
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, o := range out.Put {
		switch o := o.(type) {
		case *model.Operation:
			line := o.Type + " on " + o.Node + " of " + o.Volume + "/" + string(rune('0'+o.Replica)) + " with " + string(rune('0'+o.Peer.Peer))
			for _, g := range o.Peer.Generations {
				line += " holding " + g.String()
			}
			lines = append(lines, line)
		case *model.VolumeStatus:
			if o.Sole != nil {
				lines = append(lines, "alone "+string(rune('0'+*o.Sole)))
			}
			if o.Recovered != nil {
				lines = append(lines, "recovered "+string(rune('0'+*o.Recovered)))
			}
		}
	}
	return strings.Join(slices.Concat(lines, out.Lost), "\n")
}

type brokenCase struct {
	name   string
	change func(*broken.Input)
	want   string
}

func check(t *testing.T, version string, decide func(broken.Input) (broken.Outcome, error), cases []brokenCase) {
	t.Helper()
	for _, c := range cases {
		in := torn(version)
		if c.change != nil {
			c.change(&in)
		}
		got := strings.TrimPrefix(tell(decide(in)), model.ErrBusy.Error()+": ")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestResolve(t *testing.T) {
	keep0 := func(in broken.Input) (broken.Outcome, error) { return broken.Resolve(in, 0) }
	done := "DiscardChanges on b of db/1 with 0 holding 0000000000000300\nReconnect on a of db/0 with 1\n"
	lost := "replica 1 on b gives up what it was written alone: 4096 bytes, apart since 2026-11-21 11:00:00 UTC"
	none := "no copy is seen to have been written apart from replica 0: a split brain is seen when both sides report, and both were written alone"
	check(t, "8.4", keep0, []brokenCase{
		{"one gives up, and may not be used before it is the same", nil, done + "alone 0\n" + lost},
		{"the one that went on alone is given up by somebody's word", func(in *broken.Input) { in.Status.GoesAlone(1) }, done + "alone 0\n" + lost},
		{"the other is Primary", func(in *broken.Input) { in.Copies[1].Resource.Role = drbd.Primary }, "replica 1 on b is Primary: what is in use is not given up; detach it there first: `rvol volume detach db b`"},
		{"the other is attached", func(in *broken.Input) { in.Copies[1].Used = "attached" }, "replica 1 on b is in use (attached): detach it there first: `rvol volume detach db b`"},
		{"the kept one is in use", func(in *broken.Input) { in.Copies[0].Used, in.Copies[0].Resource.Role = "attached", drbd.Primary }, done + "alone 0\n" + lost},
		{"the kept one is not UpToDate", func(in *broken.Input) { in.Copies[0].Resource.Devices[0].Disk = drbd.Outdated }, "replica 0 on a is Outdated: only a copy that is UpToDate can be kept; `rvol volume recover db --from 0` takes it as it is"},
		{"the other does not report", func(in *broken.Input) { in.Copies[1].Known = false }, none},
		{"the other was not written", func(in *broken.Input) {
			in.Copies[1].State.Apart[0].Devices[0].Generations = drbd.Generations{Current: 0x100}
		}, none},
		{"what the other holds could not be read", func(in *broken.Input) {
			in.Copies[1].State.Apart[0].Devices[0].Generations = drbd.Generations{}
		}, none},
		{"only one stands apart", func(in *broken.Input) { in.Copies[1].State.Apart = nil }, none},
		{"no such copy", func(in *broken.Input) { in.Copies = in.Copies[1:] }, "invalid: it has no copy 0: see `rvol volume show db`"},
		{"it is stopped", func(in *broken.Input) { in.Volume.Stopped = true }, "it is stopped: `rvol volume start db`"},
	})
	check(t, "9", keep0, []brokenCase{{"on DRBD 9 quorum sees to the rest", nil, strings.TrimSuffix(done, "\n") + "\n" + lost}})
}

func TestRecover(t *testing.T) {
	from1 := func(in broken.Input) (broken.Outcome, error) { return broken.Recover(in, 1) }
	dead := func(disk drbd.DiskState) func(*broken.Input) {
		return func(in *broken.Input) {
			in.Copies[0].Known, in.Copies[0].Fenced, in.Copies[0].Up = false, true, false
			in.Copies[1].Resource.Devices[0].Disk = disk
			in.Copies[1].State.Apart = nil
		}
	}
	with := func(changes ...func(*broken.Input)) func(*broken.Input) {
		return func(in *broken.Input) {
			for _, c := range changes {
				c(in)
			}
		}
	}
	gone := "replica 0 on a, which is fenced: what it alone holds is lost"
	check(t, "8.4", from1, []brokenCase{
		{"what was left behind", dead(drbd.Outdated), "ForceUpToDate on b of db/1 with 0\nalone 1\nrecovered 1\nreplica 1 on b is Outdated: what was acknowledged after it was left behind is lost\n" + gone},
		{"what was half filled", with(dead(drbd.Inconsistent), func(in *broken.Input) {
			in.Copies[1].Resource.Peers = []inventory.Peer{{Devices: []inventory.PeerDevice{{OutOfSync: 8192}}}}
		}), "ForceUpToDate on b of db/1 with 0\nalone 1\nrecovered 1\nreplica 1 on b is Inconsistent: it was being copied to, and blocks of different times stand side by side (8192 bytes are known to be missing); a filesystem on it has to be checked, and may be damaged\n" + gone},
		{"the other went on alone", with(dead(drbd.UpToDate), func(in *broken.Input) { in.Status.GoesAlone(0) }), "alone 1\nrecovered 1\nreplica 1 on b is UpToDate: what others acknowledged without it is lost\nreplica 0 on a went on alone: what it acknowledged since is lost"},
		{"it needs no force", dead(drbd.UpToDate), "replica 1 on b is UpToDate: there is nothing to recover"},
		{"it has nothing", dead(drbd.Diskless), "replica 1 on b is Diskless: it has no data to go on with"},
		{"DRBD has not noticed yet", with(dead(drbd.Inconsistent), func(in *broken.Input) {
			in.Copies[1].Resource.Peers = []inventory.Peer{{Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Disk: drbd.UpToDate}}}}
		}), "replica 1 on b is connected with a copy that is UpToDate; should that one have died just now, DRBD has not noticed yet: say it again in a moment"},
		{"the other is not known to be off", with(dead(drbd.Outdated), func(in *broken.Input) { in.Copies[0].Fenced = false }), "node a is neither fenced nor lost, and its copy may be better: bring it back; or, if it is off for good, `rvol node lost a`"},
		{"the other is there, and good", func(in *broken.Input) { in.Copies[1].Resource.Devices[0].Disk = drbd.Outdated }, "replica 0 on a is UpToDate: it is the one to go on with"},
		{"the other is there, and better", func(in *broken.Input) {
			in.Copies[0].Resource.Devices[0].Disk, in.Copies[1].Resource.Devices[0].Disk = drbd.Outdated, drbd.Inconsistent
		}, "replica 0 on a is Outdated: it is better than replica 1, which is Inconsistent"},
		{"the other is there, and no better", func(in *broken.Input) {
			in.Copies[0].Resource.Devices[0].Disk, in.Copies[1].Resource.Devices[0].Disk = drbd.Inconsistent, drbd.Outdated
			in.Copies[1].State.Apart = nil
		}, "ForceUpToDate on b of db/1 with 0\nalone 1\nrecovered 1\nreplica 1 on b is Outdated: what was acknowledged after it was left behind is lost"},
		{"its own node does not report", func(in *broken.Input) { in.Copies[1].Known = false }, "there is no report from node b, which holds replica 1"},
	})
	check(t, "9", from1, []brokenCase{
		{"it lacks quorum", with(dead(drbd.UpToDate), func(in *broken.Input) { in.Copies[1].Resource.Devices[0].Quorum = false }), "recovered 1\nreplica 1 on b is UpToDate: what others acknowledged without it is lost\n" + gone},
	})
}

func TestConditionSplitBrain(t *testing.T) {
	got, ok := broken.Condition(torn("9"))
	if !ok || got.Status != model.True || !strings.Contains(got.Message, "replicas 0 on a and 1 on b were each written alone") || !strings.Contains(got.Message, "rvol volume resolve db") {
		t.Errorf("got %+v, %t", got, ok)
	}
	in := torn("9")
	in.Copies[0].State.Apart = nil
	if got, ok := broken.Condition(in); ok {
		t.Errorf("got %+v", got)
	}
}
