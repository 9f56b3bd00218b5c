package decide_test

import (
	"strings"
	"testing"

	"rvol/agent/decide"
	"rvol/drbd"
)

// liminal votes and has no disk, by order.
func liminal(w *world) { w.r().Type = decide.LiminalDiskful }

// settled runs what the order says now.
func settled(w *world) { w.settle() }

// diskless has let its disk go.
func diskless(w *world) {
	w.kernel().Devices[0].Disk = drbd.Diskless
	w.Observed.LVs[0].Open = false
	w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: w.r().DeviceUUID(0)}
}

// third makes another replica a peer.
func third(w *world) {
	w.r().Peers = append(w.r().Peers, decide.Peer{ID: 2, Type: decide.Access, Node: "c", HostName: "c", Port: 17000, Addresses: map[string]string{"default": "10.0.0.3"}})
}

func TestChangesOfTheMesh(t *testing.T) {
	check(t, []planCase{
		{
			"a copy that is to join is prepared, and comes up without its disk", empty(v9).formatted().with(liminal),
			"write file of rvol-db\nbring up rvol-db\nlink rvol/db to /dev/drbd10000\nlink drbd/by-res/rvol-db/0 to /dev/drbd10000",
		},
		{"its volume is made first", empty(v9).with(liminal), "create LV vg0/rvol-db.0.0 of 20971520 bytes"},
		{"then it rests", empty(v9).formed().with(liminal).with(settled).with(diskless), ""},
		{
			"it gets its disk", empty(v9).formed().with(liminal).with(settled).with(diskless).with(func(w *world) { w.r().Type = decide.Diskful }),
			"write file of rvol-db\nattach disk of rvol-db/0\nadjust rvol-db",
		},
		{"it is to lose its disk", empty(v9).formed().with(liminal), "write file of rvol-db\ndetach disk of rvol-db/0\nadjust rvol-db"},
		{"a disk that cannot be had does not keep it from leaving", empty(v9).formed().with(liminal).with(diskless).with(func(w *world) {
			w.Observed.VGs = nil
		}), "write file of rvol-db\nadjust rvol-db\nrefused (other): volume group vg0..."},
		{"its disk is lost, and another replica joins all the same", empty(v9).formed().with(diskless).with(third).with(func(w *world) {
			w.Observed.VGs = nil
		}), "write file of rvol-db\nadjust rvol-db\nrefused (other): volume group vg0..."},
		{"another replica joins", empty(v9).formed().with(third), "write file of rvol-db\nadjust rvol-db"},
		{
			"one has left: its slot is freed", empty(v9).formed().with(func(w *world) { w.r().Forget = []drbd.NodeID{2} }),
			"write file of rvol-db\nadjust rvol-db\nforget peers of rvol-db that left: [2]",
		},
		{
			"one without a disk has no slots", empty(v9).formed().with(liminal).with(diskless).with(func(w *world) { w.r().Forget = []drbd.NodeID{2} }),
			"write file of rvol-db\nadjust rvol-db",
		},
		{
			"DRBD 8.4: the other copy left", empty(v84).formed().with(func(w *world) { w.r().Peers = nil }),
			"disconnect rvol-db from the copy that left\nwrite file of rvol-db\nadjust rvol-db",
		},
		{
			"DRBD 8.4: this copy left", empty(v84).formed().with(func(w *world) { w.r().Member = false }),
			"disconnect rvol-db from the copy that left\nwrite file of rvol-db\nadjust rvol-db",
		},
		{"DRBD 8.4: another copy comes", empty(v84).formed().with(func(w *world) {
			w.r().Peers, w.kernel().Peers = nil, nil
			w.settle()
			w.member()
		}), "write file of rvol-db\nadjust rvol-db"},
	})
}

// TestTheQuorumIsLoweredLast: the vote of a member that leaves may not count for a quorum
// that is made without it. Of four voters {a, b | c, leaving} both halves would have two.
func TestTheQuorumIsLoweredLast(t *testing.T) {
	t.Parallel()
	w := empty(v9).formed().with(third)
	w.r().Peers[1].Type, w.r().Quorum = decide.LiminalDiskful, 3
	w.settle()
	w.r().Peers[1].Type, w.r().Quorum = decide.Access, 2
	for _, want := range []string{"quorum 3;", "quorum 2;"} {
		steps := decide.Next(w.Input, res).Steps
		file, ok := steps[0].(decide.WriteFile)
		if !ok || !strings.Contains(file.Text, want) || !strings.Contains(file.Text, `allow-remote-read no`) {
			t.Fatalf("%v, want a file with %q and the member without its vote", steps[0], want)
		}
		w.Observed.Files[res], w.Facts.Applied[res] = file.Text, file.Text
	}
	if p := decide.Next(w.Input, res); len(p.Steps) > 0 || p.States[0].AppliedRevision != w.r().Revision {
		t.Errorf("it is not done: %v", p)
	}
}

func TestDRBD84HasNoQuorumToLower(t *testing.T) {
	t.Parallel()
	w := empty(v84).up()
	w.r().Quorum = 32 // not a member yet
	w.settle()
	w.member()
	w.r().Quorum = 0
	want, err := w.r().File(v84)
	if err != nil {
		t.Fatal(err)
	}
	file, ok := decide.Next(w.Input, res).Steps[0].(decide.WriteFile)
	if !ok || file.Text != want {
		t.Errorf("adjusts to another file first:\n%s", file.Text)
	}
}

func TestACopyWhoseDiskIsLostStaysAMember(t *testing.T) {
	t.Parallel()
	w := empty(v9).formed().with(diskless)
	w.Observed.VGs = nil
	for range 2 {
		for _, s := range decide.Next(w.Input, res).Steps {
			if file, ok := s.(decide.WriteFile); ok {
				w.Observed.Files[res], w.Facts.Applied[res] = file.Text, file.Text
			}
		}
	}
	p := decide.Next(w.Input, res)
	if s := p.States[0]; len(p.Steps) > 0 || s.AppliedRevision != w.r().Revision || !strings.Contains(s.Error, "volume group vg0") {
		t.Errorf("%v: %+v", p.Steps, s)
	}
	w.Observed.VGs = []decide.VG{{Name: "vg0", UUID: vgUUID}}
	if got := decide.Next(w.Input, res).String(); !strings.Contains(got, "attach disk of rvol-db/0") {
		t.Errorf("the disk is back: %s", got)
	}
}

func TestWhoHasNoDiskHasNoVoteOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, typ := range []decide.ReplicaType{decide.Access, decide.TieBreaker, decide.LiminalDiskful} {
		w := empty(v9).member()
		w.r().Type = typ
		text, err := w.r().File(v9)
		if err != nil || !strings.Contains(text, "quorum 32;") || !strings.Contains(text, "quorum-minimum-redundancy 1;") || !strings.Contains(text, "disk none;") {
			t.Errorf("%s: %v\n%s", typ, err, text)
		}
	}
}
