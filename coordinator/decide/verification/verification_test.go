package verification_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/verification"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

var begun = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a volume of so many copies that are UpToDate and at rest, on nodes a, b ...
func world(version string, copies int) verification.Input {
	in := verification.Input{Volume: &model.Volume{}, Status: &model.VolumeStatus{Formed: true, DRBD: version}, Now: begun}
	in.Volume.Name, in.Volume.UID, in.Status.Name, in.Volume.CreatedAt = "db", "u", "db", begun
	for id := range copies {
		r := &model.Replica{Volume: "db", ID: id, Type: model.Diskful, Node: string(rune('a' + id))}
		c := verification.Copy{Replica: r, Known: true}
		c.Resource = inventory.Resource{Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.UpToDate}}}
		for peer := range copies {
			if peer != id {
				c.Resource.Peers = append(c.Resource.Peers, inventory.Peer{NodeID: peer, Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Replication: drbd.Established, Disk: drbd.UpToDate}}})
			}
		}
		in.Copies = append(in.Copies, c)
	}
	return in
}

func TestWhichCopyIsTheSource(t *testing.T) {
	isPrimary := func(n int) func(*verification.Input) {
		return func(in *verification.Input) { in.Copies[n].Resource.Role = drbd.Primary }
	}
	for _, c := range []struct {
		name   string
		change func(*verification.Input)
		ask    verification.Request
		want   string
	}{
		{"the first when nobody uses it", nil, verification.Request{}, "0"},
		{"the one in use", isPrimary(1), verification.Request{}, "1"},
		{"the one in use, to repair", isPrimary(1), verification.Request{Repair: true}, "1"},
		{"the one that is named", isPrimary(1), verification.Request{From: new(0)}, "0"},
		{"none is known to be right", nil, verification.Request{Repair: true}, "invalid: nobody uses the volume, so which copy is right when two differ cannot be told: say --from ID"},
		{"nothing is copied over what is in use", isPrimary(1), verification.Request{Repair: true, From: new(0)}, "replica 1 on b is in use, and nothing is copied over what is in use: copy from it (--from 1), or detach the volume first"},
		{"no such copy", nil, verification.Request{From: new(7)}, "invalid: it has no copy 7"},
		{"not while one is away", func(in *verification.Input) { in.Copies[1].Known = false }, verification.Request{}, "replica 1 on b does not report"},
		{"not while one is old", func(in *verification.Input) { in.Copies[1].Resource.Devices[0].Disk = drbd.Outdated }, verification.Request{From: new(0)}, "replica 1 on b is Outdated"},
		{"not while one is copied", func(in *verification.Input) {
			in.Copies[0].Resource.Peers[0].Devices[0].Replication = drbd.SyncSource
		}, verification.Request{}, "replica 0 on a is being copied"},
		{"not while two are not connected", func(in *verification.Input) { in.Copies[0].Resource.Peers[0].Connection = drbd.Connecting }, verification.Request{}, "replica 0 on a is connected with 0 of 1 other copies"},
		{"not while it is changed", func(in *verification.Input) { in.Status.Transitions = []model.Transition{{Title: "move db/0"}} }, verification.Request{}, "it is being changed: move db/0"},
		{"not twice", func(in *verification.Input) { in.Status.Verification = &model.Verification{Phase: model.Comparing} }, verification.Request{}, "it is being compared already: `rvol volume show db` tells how far it is"},
		{"not one copy", func(in *verification.Input) { in.Copies = in.Copies[:1] }, verification.Request{}, "it has one copy: there is nothing to compare it with"},
	} {
		in := world("8.4", 2)
		if c.change != nil {
			c.change(&in)
		}
		next, err := verification.Begin(in, c.ask)
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), model.ErrBusy.Error()+": ")
		} else {
			got = fmt.Sprint(next.Verification.Source)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// play carries a verification to its end: agents answer with what answer says.
func play(t *testing.T, in verification.Input, answer func(*model.Operation)) (steps []string, end *model.VolumeStatus) {
	t.Helper()
	for range 20 {
		out := verification.Next(in)
		if !out.Changed() {
			return append(steps, "waits: "+out.Wait), in.Status
		}
		for _, o := range out.Put {
			switch o := o.(type) {
			case *model.VolumeStatus:
				in.Status = o
			case *model.Operation:
				steps = append(steps, fmt.Sprintf("%s on %s: %d with %d", o.Type, o.Node, o.Replica, o.Peer.Peer))
				answer(o)
				in.Operation = o
			}
		}
		if len(out.Delete) > 0 {
			in.Operation = nil
		}
		if !in.Status.Verification.Active() {
			c, _ := in.Status.Conditions.Get("Verified")
			return append(steps, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), ": ")), in.Status
		}
	}
	t.Fatal("no end")
	return nil, nil
}

func TestAVerification(t *testing.T) {
	finds := func(bytes int64) func(*model.Operation) {
		return func(o *model.Operation) {
			if o.Phase = model.OperationSucceeded; o.Type == model.OperationVerify && o.Replica+o.Peer.Peer == 1 {
				o.OutOfSync = bytes
			}
		}
	}
	fails := func(o *model.Operation) { o.Phase, o.Result = model.OperationFailed, "broken off" }
	for _, c := range []struct {
		name   string
		in     verification.Input
		ask    verification.Request
		answer func(*model.Operation)
		change func(*verification.Input)
		want   []string
	}{
		{"nothing differs", world("9", 3), verification.Request{}, finds(0), nil, []string{"Verify on a: 0 with 1", "Verify on a: 0 with 2", "True NoDifference"}},
		{"one differs", world("9", 3), verification.Request{}, finds(4096), nil, []string{"Verify on a: 0 with 1", "Verify on a: 0 with 2", "False DifferencesFound: replica 1 differs from replica 0 in 4096 bytes: see which one is right; `rvol volume verify db --repair --from ID` copies from it"}},
		{"and is mended, on 9 by its own node", world("9", 3), verification.Request{Repair: true, From: new(0)}, finds(4096), nil, []string{"Verify on a: 0 with 1", "Verify on a: 0 with 2", "Repair on b: 1 with 0", "True Repaired: 4096 bytes were copied from replica 0 to 1"}},
		{"on 8.4 by the other's", world("8.4", 2), verification.Request{Repair: true, From: new(1)}, finds(4096), nil, []string{"Verify on b: 1 with 0", "Repair on b: 1 with 0", "True Repaired: 4096 bytes were copied from replica 1 to 0"}},
		{"it is not over before both say so", world("8.4", 2), verification.Request{Repair: true, From: new(0)}, finds(4096), func(in *verification.Input) {
			in.Copies[1].Resource.Peers[0].Devices[0].OutOfSync = 4096
		}, []string{"Verify on a: 0 with 1", "Repair on a: 0 with 1", "waits: what differs is copied from replica 0 to 1"}},
		{"it was broken off", world("8.4", 2), verification.Request{}, fails, nil, []string{"Verify on a: 0 with 1", "Unknown NotCompared: replica 1: broken off"}},
		{"it is under way", world("8.4", 2), verification.Request{}, func(*model.Operation) {}, nil, []string{"Verify on a: 0 with 1", "waits: node a: Verify with replica 1"}},
		{"a copy goes meanwhile", world("8.4", 2), verification.Request{}, finds(0), func(in *verification.Input) { in.Copies = in.Copies[:1] }, []string{"Unknown NotCompared: replica 1 is no copy of it any more"}},
		{"a node is fenced meanwhile", world("8.4", 2), verification.Request{}, finds(0), func(in *verification.Input) { in.Copies[1].Fenced = true }, []string{"Unknown NotCompared: node b of replica 1 is fenced"}},
		{"it is stopped meanwhile", world("8.4", 2), verification.Request{}, finds(0), func(in *verification.Input) { in.Volume.Stopped = true }, []string{"Unknown NotCompared: the volume is stopped"}},
	} {
		vs, err := verification.Begin(c.in, c.ask)
		if err != nil {
			t.Fatal(err)
		}
		c.in.Status = vs
		if c.change != nil {
			c.change(&c.in)
		}
		got, _ := play(t, c.in, c.answer)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestVolumesOfOneAgeAreSpread(t *testing.T) {
	vs := &model.VolumeStatus{}
	first, last := begun.Add(1000*time.Hour), begun
	for i := range 100 {
		vol := &model.Volume{}
		vol.Name, vol.CreatedAt = fmt.Sprintf("db-%d", i), begun
		at, ok := verification.Due(vol, vs, 80*time.Hour, begun)
		if !ok || at.Before(begun.Add(70*time.Hour)) || at.After(begun.Add(80*time.Hour)) {
			t.Fatalf("%s is due %v, %t", vol.Name, at.Sub(begun), ok)
		}
		if again, _ := verification.Due(vol, vs, 80*time.Hour, begun); !again.Equal(at) {
			t.Errorf("%s is due %v and %v", vol.Name, at, again)
		}
		if at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if last.Sub(first) < 8*time.Hour {
		t.Errorf("all are due within %v", last.Sub(first))
	}
}

func TestTheClassSaysWhen(t *testing.T) {
	in := world("8.4", 2)
	in.Every = 8 * time.Hour
	for _, c := range []struct {
		name   string
		after  time.Duration
		change func(*verification.Input)
		want   string
	}{
		{"not yet", 6 * time.Hour, nil, "later"},
		{"now", 8 * time.Hour, nil, "begins"},
		{"enough is compared on its node", 8 * time.Hour, func(in *verification.Input) { in.Busy = map[string]int{"b": 1} }, "1 volumes are being compared on node b"},
		{"a copy is filled", 8 * time.Hour, func(in *verification.Input) {
			in.Copies[1].Resource.Peers[0].Devices[0].Replication = drbd.SyncTarget
		}, "replica 1 on b is being copied"},
		{"the class says nothing", 8 * time.Hour, func(in *verification.Input) { in.Every = 0 }, ""},
		{"the last one ended well", 8 * time.Hour, func(in *verification.Input) {
			in.Status.Verification = &model.Verification{Phase: model.Verified, EndedAt: begun.Add(2 * time.Hour)}
		}, "later"},
		{"the last one was cut short", 4 * time.Hour, func(in *verification.Input) {
			in.Status.Verification = &model.Verification{Phase: model.Verified, EndedAt: begun.Add(2 * time.Hour), Message: "broken off"}
		}, "begins"},
	} {
		in := in
		in.Status = model.Clone(in.Status)
		in.Now = begun.Add(c.after)
		in.Copies = world("8.4", 2).Copies
		if c.change != nil {
			c.change(&in)
		}
		out := verification.Next(in)
		got := strings.TrimPrefix(out.Wait, model.ErrBusy.Error()+": ")
		switch {
		case out.Changed():
			got = "begins"
		case got == "" && out.Again > 0:
			got = "later"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestALeaderWhoseClockIsBehindGoesOn takes over what one began whose clock was a day ahead.
func TestALeaderWhoseClockIsBehindGoesOn(t *testing.T) {
	in := world("9", 2)
	in.Now = begun.Add(24 * time.Hour)
	vs, err := verification.Begin(in, verification.Request{})
	if err != nil {
		t.Fatal(err)
	}
	in.Status, in.Now = vs, begun
	got, _ := play(t, in, func(o *model.Operation) { o.Phase = model.OperationSucceeded })
	if diff := cmp.Diff([]string{"Verify on a: 0 with 1", "True NoDifference"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatEndedInTheFutureIsDue(t *testing.T) {
	every := 80 * time.Hour
	for ahead, want := range map[time.Duration]bool{time.Hour: false, every: false, every + time.Hour: true, 10000 * time.Hour: true} {
		in := world("9", 2)
		in.Every = every
		in.Status.Verification = &model.Verification{Phase: model.Verified, EndedAt: begun.Add(ahead)}
		if got := verification.Next(in).Changed(); got != want {
			t.Errorf("%s ahead: begins %v", ahead, got)
		}
	}
}
