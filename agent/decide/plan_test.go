package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
	"rvol/drbd"
)

// planCase is a world and what is done about it. In want a line that ends
// with "..." names the beginning only.
type planCase struct {
	name string
	w    *world
	want string
}

func check(t *testing.T, cases []planCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Split(says(decide.Next(c.w.Input, res)), "\n")
			want := strings.Split(c.want, "\n")
			for i := range min(len(got), len(want)) {
				if begin, short := strings.CutSuffix(want[i], "..."); short && strings.HasPrefix(got[i], begin) {
					got[i] = want[i]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestPreconfigure(t *testing.T) {
	check(t, []planCase{
		{"nothing is there: the volume is made first", empty(v9), "create LV vg0/rvol-db.0.0 of 20971520 bytes"},
		{"the volume was just made: metadata", empty(v9).created(), "create metadata on vg0/rvol-db.0.0"},
		{"after a crash within lvcreate: made again, which finds it", empty(v9).created().with(func(w *world) {
			w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0"}
		}), "create LV vg0/rvol-db.0.0 of 20971520 bytes"},
		{"after a crash within lvcreate, when the coordinator knows the volume already: the same", empty(v9).created().with(func(w *world) {
			w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0"}
			w.r().Devices[0].Backing.LVUUID = lvUUID
		}), "create LV vg0/rvol-db.0.0 of 20971520 bytes"},
		{"the same for a copy that joins a formed volume", empty(v9).created().with(func(w *world) {
			w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0"}
			w.r().Devices[0].Backing.LVUUID, w.r().Formed = lvUUID, true
		}), "create LV vg0/rvol-db.0.0 of 20971520 bytes"},
		{"its old blocks are not wiped yet: made again, which finishes it", empty(v9).formatted().with(func(w *world) {
			w.Observed.LVs[0].Unfinished = true
		}), "create LV vg0/rvol-db.0.0 of 20971520 bytes"},
		{"after a crash within create-md: again, nothing was attached yet", empty(v9).created().with(func(w *world) {
			w.Observed.Metadata[lvUUID] = decide.Metadata{Current: drbd.JustCreated}
		}), "create metadata on vg0/rvol-db.0.0"},
		{
			"metadata is there: file, up, links", empty(v9).formatted(),
			"write file of rvol-db\nbring up rvol-db\nlink rvol/db to /dev/drbd10000\nlink drbd/by-res/rvol-db/0 to /dev/drbd10000",
		},
		{
			"the volume is not active after a boot", empty(v9).formatted().with(func(w *world) { w.Observed.LVs[0].Active = false }),
			"activate LV vg0/rvol-db.0.0",
		},
		{"up and alone on DRBD 9: nothing", empty(v9).up(), ""},
		{"up and alone on DRBD 8.4: nothing", empty(v84).up(), ""},
		{"only half up on DRBD 8.4: up again makes the device", empty(v84).up().with(func(w *world) {
			w.kernel().Devices = nil
			delete(w.Facts.Applied, res)
			w.Observed.Metadata[lvUUID] = decide.Metadata{Current: drbd.JustCreated, Device: w.r().DeviceUUID(0)}
		}), "bring up rvol-db"},
		{"up without its disk", empty(v9).up().with(func(w *world) {
			w.kernel().Devices[0].Disk = drbd.Diskless
			delete(w.Facts.Applied, res)
			w.Observed.Metadata[lvUUID] = decide.Metadata{Current: drbd.JustCreated, Device: w.r().DeviceUUID(0)}
		}), "attach disk of rvol-db/0\nadjust rvol-db"},
		{"the order makes it a member", empty(v9).up().member(), "write file of rvol-db\nadjust rvol-db"},
		{
			"after a restart nobody knows what the kernel runs", empty(v9).member().up().with(func(w *world) { delete(w.Facts.Applied, res) }),
			"adjust rvol-db",
		},
		{
			"a diskless replica needs no volume", empty(v9).with(func(w *world) { w.r().Type, w.r().Devices[0].Backing = decide.TieBreaker, nil }),
			"write file of rvol-db\nbring up rvol-db\nlink rvol/db to /dev/drbd10000\nlink drbd/by-res/rvol-db/0 to /dev/drbd10000",
		},
	})
}

func TestRefusals(t *testing.T) {
	check(t, []planCase{
		{"a volume of that name without our tags", empty(v9).created().with(func(w *world) {
			w.Observed.LVs[0].Reservation, w.Facts.Backings = "", nil
		}), "refused for good (foreign): LV vg0/rvol-db.0.0 exists..."},
		{
			"our tags with another cluster's", empty(v9).created().with(func(w *world) { w.Observed.LVs[0].Cluster, w.Facts.Backings = "c2", nil }),
			"refused for good (foreign): LV vg0/rvol-db.0.0 exists...",
		},
		{
			"our tags on another name", empty(v9).created().with(func(w *world) { w.Observed.LVs[0].Name = "copy" }),
			"refused for good (foreign): LV vg0/copy carries the tags of reservation res-0...",
		},
		{
			"the volume has another UUID than the order says", empty(v9).formatted().with(func(w *world) { w.r().Devices[0].Backing.LVUUID = "other" }),
			"refused for good (foreign): ForeignDiskDetected: LV vg0/rvol-db.0.0 has UUID...",
		},
		{"the volume has another UUID than the journal says", empty(v9).formatted().with(func(w *world) {
			w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0", LVUUID: "other", MetaMade: true}
		}), "refused for good (foreign): ForeignDiskDetected: LV vg0/rvol-db.0.0 has UUID..."},
		{
			"a volume that was known is gone: never made again", empty(v9).with(func(w *world) { w.r().Devices[0].Backing.LVUUID = lvUUID }),
			"refused for good (foreign): LV vg0/rvol-db.0.0 (UUID " + lvUUID + ") is gone...",
		},
		{
			"no metadata, and the journal did not make the volume", empty(v9).created().with(func(w *world) { w.Facts.Backings = nil }),
			"refused for good (foreign): ForeignDiskDetected: LV vg0/rvol-db.0.0 has no metadata...",
		},
		{
			"no metadata where it was made once", empty(v9).formatted().with(func(w *world) { w.Observed.Metadata[lvUUID] = decide.Metadata{None: true} }),
			"refused for good (foreign): ForeignDiskDetected: LV vg0/rvol-db.0.0 has no metadata...",
		},
		{"no metadata on a member of a formed volume whose making the journal only began", empty(v9).member().created().with(func(w *world) {
			w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0"}
			w.r().Devices[0].Backing.LVUUID, w.r().Formed = lvUUID, true
		}), "refused for good (foreign): ForeignDiskDetected: LV vg0/rvol-db.0.0 has no metadata..."},
		{"metadata of another replica", empty(v9).formatted().with(func(w *world) {
			w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: 8}
		}), "refused for good (foreign): ForeignDiskDetected: metadata on vg0/rvol-db.0.0 is bound to..."},
		{
			"metadata that could not be read", empty(v9).formatted().with(func(w *world) { delete(w.Observed.Metadata, lvUUID) }),
			"refused (other): metadata of vg0/rvol-db.0.0 could not be read: not looked at",
		},
		{
			"the group came back as another", empty(v9).with(func(w *world) { w.Observed.VGs[0].UUID = "other" }),
			"refused (other): volume group vg0 (UUID " + vgUUID + ") is not there...",
		},
		{
			"the group lacks a disk", empty(v9).with(func(w *world) { w.Observed.VGs[0].Partial = true }),
			"refused (other): volume group vg0 lacks disks...",
		},
		{
			"LVM could not be read", empty(v9).with(func(w *world) { w.Observed.LVMError = "garbage" }),
			"refused (other): LVM is not completely known: garbage",
		},
		{
			"the group could not be read", empty(v9).with(func(w *world) { w.Observed.VGs[0].Stale = "stuck" }),
			"refused (other): volume group vg0 is not known as it is now: stuck",
		},
		{
			"LVM is not installed", empty(v9).with(func(w *world) { w.Observed.NoLVM = "install lvm2" }),
			"refused (no-tool): LVM cannot be used: install lvm2",
		},
		{
			"DRBD is not installed", empty(v9).with(func(w *world) { w.Observed.NoDRBD = "install drbd-utils" }),
			"refused (no-tool): DRBD cannot be used: install drbd-utils",
		},
		{
			"DRBD could not be read", empty(v9).with(func(w *world) { w.Observed.DRBDError = "garbage" }),
			"refused (other): DRBD is not completely known: garbage",
		},
		{
			"the volume runs another DRBD", empty(v84).with(func(w *world) { w.r().DRBD = "9" }),
			"refused (no-tool): volume db runs DRBD 9, this node has DRBD 8.4.11...",
		},
		{
			"the resource is up for another replica", empty(v9).up().with(func(w *world) { w.r().ReplicaUID = "uid-1" }),
			"refused (foreign): resource rvol-db is up for replica uid-0...",
		},
		{"the resource is up with another node-id and no file", empty(v9).up().with(func(w *world) {
			w.kernel().NodeID = 5
			delete(w.Observed.Files, res)
		}), "refused (foreign): resource rvol-db is up with node-id 5..."},
		{"the resource is up with another minor and no file", empty(v84).up().with(func(w *world) {
			w.kernel().Devices[0].Minor = 3
			delete(w.Observed.Files, res)
		}), "refused (foreign): resource rvol-db is up with minor 3..."},
		{"a disk was lost to an I/O error", empty(v9).formed().with(func(w *world) {
			w.kernel().Devices[0].Disk = drbd.Diskless
			w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: w.r().DeviceUUID(0)}
		}), "refused (other): disk of rvol-db/0 was detached after an I/O error..."},
		{"a name that is a path", empty(v9).with(func(w *world) { w.r().Volume = "../etc" }), "refused for good (refused): ..."},
		{
			"an option that is not known", empty(v9).with(func(w *world) { w.r().Options = map[string]string{"fencing": "no"} }),
			"refused for good (refused): make the file of rvol-db: option fencing...",
		},
		{
			"an address that is none", empty(v9).with(func(w *world) { w.r().Addresses["default"] = "a; b" }),
			"refused for good (refused): make the file of rvol-db: address of host a...",
		},
	})
}

func TestRoles(t *testing.T) {
	primary := func(w *world) { w.r().Primary = true }
	isPrimary := func(w *world) { w.kernel().Role = drbd.Primary }
	check(t, []planCase{
		{"granted", empty(v84).formed().with(primary), "make rvol-db Primary"},
		{"granted before it is formed", empty(v84).member().up().with(primary), ""},
		{"granted, on a fenced node", empty(v84).formed().with(primary).with(func(w *world) { w.Desired.Fenced = true }), ""},
		{"withdrawn", empty(v84).formed().with(isPrimary), "make rvol-db Secondary"},
		{
			"withdrawn while it is open: the kernel refuses", empty(v9).formed().with(isPrimary).with(func(w *world) { w.kernel().Devices[0].Open = drbd.Yes }),
			"make rvol-db Secondary",
		},
		{"fenced", empty(v84).formed().with(primary).with(isPrimary).with(func(w *world) { w.Desired.Fenced = true }), "make rvol-db Secondary"},
		{
			"fenced and on hold", empty(v84).formed().with(primary).with(isPrimary).with(func(w *world) { w.Desired.Fenced, w.Desired.Hold = true, true }),
			"make rvol-db Secondary",
		},
		{"on hold, withdrawn", empty(v84).formed().with(isPrimary).with(func(w *world) { w.Desired.Hold = true }), ""},
		{"without a coordinator, withdrawn", empty(v84).formed().with(isPrimary).with(func(w *world) { w.Facts.Confirmed = false }), ""},
		{
			"without a coordinator on DRBD 8.4", empty(v84).formed().with(primary).with(func(w *world) { w.Facts.Confirmed = false }),
			"waiting for a coordinator before rvol-db becomes Primary",
		},
		{
			"without a coordinator on DRBD 9 with quorum", empty(v9).formed().with(primary).with(func(w *world) { w.Facts.Confirmed = false }),
			"make rvol-db Primary",
		},
		{"without a coordinator on DRBD 9 without quorum", empty(v9).formed().with(primary).with(func(w *world) {
			w.r().Quorum, w.Facts.Confirmed = 0, false
			w.settle()
		}), "waiting for a coordinator before rvol-db becomes Primary"},
		{"without a coordinator, the only replica", empty(v84).formed().with(primary).with(func(w *world) {
			w.r().Peers, w.kernel().Peers, w.Facts.Confirmed = nil, nil, false
			w.settle()
		}), "make rvol-db Primary"},
		{"the first sync is starting on DRBD 8.4", empty(v84).formed().with(isPrimary).with(func(w *world) {
			w.kernel().Peers[0].Devices[0].Repl = drbd.WFBitMapS
		}), "waiting for the first sync of rvol-db to start"},
		{
			"stopped", empty(v9).formed().with(func(w *world) { w.r().Down = true }),
			"take down rvol-db\nunlink drbd/by-res/rvol-db/0\nunlink rvol/db",
		},
		{"stopped while Primary", empty(v9).formed().with(primary).with(isPrimary).with(func(w *world) { w.r().Down = true }), "make rvol-db Secondary"},
		{"stopped, on hold", empty(v9).formed().with(func(w *world) { w.r().Down, w.Desired.Hold = true, true }), ""},
	})
}

func TestWithoutACoordinatorWhatThereIsComesUp(t *testing.T) {
	unconfirmed := func(w *world) { w.Facts.Confirmed = false }
	check(t, []planCase{
		{"after a boot, from the file that is there", empty(v84).formed().down().with(unconfirmed).with(func(w *world) {
			w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: w.r().DeviceUUID(0)}
			w.Observed.Links = nil
			w.r().Port++ // the order is newer than the file
		}), "bring up rvol-db\nlink rvol/db to /dev/drbd10000\nlink drbd/by-res/rvol-db/0 to /dev/drbd10000"},
		{"no volume is made", empty(v9).with(unconfirmed), "refused (other): waiting for a coordinator to confirm the order before: create LV..."},
		{"no metadata is made", empty(v9).created().with(unconfirmed), "refused (other): waiting for a coordinator to confirm the order before: create metadata..."},
		{"nothing is adjusted", empty(v9).formed().with(unconfirmed).with(func(w *world) { w.r().Port++ }), ""},
		{"nothing is released", empty(v9).formed().releasing().with(unconfirmed), ""},
		{"no operation runs", empty(v9).granted().with(unconfirmed), ""},
	})
}

func TestRelease(t *testing.T) {
	check(t, []planCase{
		{"it is up: down first", empty(v9).formed().releasing(), "take down rvol-db\nunlink drbd/by-res/rvol-db/0\nunlink rvol/db"},
		{
			"it is open", empty(v9).formed().releasing().with(func(w *world) { w.kernel().Devices[0].Open = drbd.Yes }),
			"refused (in-use): release res-0: /dev/drbd10000 of rvol-db is in use on this node...",
		},
		{"it is down: metadata, then the volume", empty(v9).formatted().releasing(), "wipe metadata of vg0/rvol-db.0.0\nremove LV vg0/rvol-db.0.0"},
		{"it never had metadata", empty(v9).created().releasing(), "remove LV vg0/rvol-db.0.0"},
		{
			"somebody else has the volume open", empty(v9).formatted().releasing().with(func(w *world) { w.Observed.LVs[0].Open = true }),
			"refused (in-use): LV vg0/rvol-db.0.0 is held open by something that is not rvol-db...",
		},
		{
			"the volume is gone, its file is not", empty(v9).formed().down().releasing().with(func(w *world) { w.Observed.LVs = nil }),
			"unlink drbd/by-res/rvol-db/0\nunlink rvol/db\nremove file of rvol-db",
		},
		{"all is gone", empty(v9).releasing(), "released res-0"},
		{"all is gone, as the replica's record is", empty(v9).releasing().with(func(w *world) { w.Desired.Releases[0].ReplicaUID = "" }), "released res-0"},
		{
			"the group is not there: no proof", empty(v9).releasing().with(func(w *world) { w.Observed.VGs = nil }),
			"refused (other): volume group vg0 (UUID " + vgUUID + ") is not there...",
		},
		{
			"the group is not there, and DRBD has what stood on it: down", empty(v9).formed().releasing().with(func(w *world) { w.Observed.VGs, w.Observed.LVs = nil, nil }),
			"take down rvol-db\nunlink drbd/by-res/rvol-db/0\nunlink rvol/db",
		},
		{
			"the group is not there, and what stood on it is open", empty(v9).formed().releasing().with(func(w *world) {
				w.Observed.VGs, w.Observed.LVs, w.kernel().Devices[0].Open = nil, nil, drbd.Yes
			}),
			"refused (in-use): release res-0: /dev/drbd10000 of rvol-db is in use on this node...",
		},
		{
			"the group is not there: its file goes, which proves nothing", empty(v9).formed().down().releasing().with(func(w *world) { w.Observed.VGs, w.Observed.LVs = nil, nil }),
			"unlink drbd/by-res/rvol-db/0\nunlink rvol/db\nremove file of rvol-db",
		},
		{
			"LVM could not be read, and DRBD has it: nothing is done", empty(v9).formed().releasing().with(func(w *world) { w.Observed.LVMError = "garbage" }),
			"refused (other): LVM is not completely known: garbage",
		},
		{
			"LVM could not be read: no proof", empty(v9).releasing().with(func(w *world) { w.Observed.LVMError = "garbage" }),
			"refused (other): LVM is not completely known: garbage",
		},
		{
			"the group could not be read: no proof", empty(v9).releasing().with(func(w *world) { w.Observed.VGs[0].Stale = "stuck" }),
			"refused (other): volume group vg0 is not known as it is now: stuck",
		},
		{
			"DRBD could not be read: it may be up", empty(v9).formatted().releasing().with(func(w *world) { w.Observed.DRBDError = "garbage" }),
			"refused (other): DRBD is not completely known: garbage",
		},
		{"DRBD's tools are missing: it may be up", empty(v9).formatted().releasing().with(func(w *world) {
			w.Observed.DRBD, w.Observed.NoDRBD = drbd.Version{}, "install drbd-utils"
		}), "refused (no-tool): DRBD cannot be used: install drbd-utils"},
		{"DRBD's module was never loaded: nothing is up", empty(v9).created().releasing().with(func(w *world) {
			w.Observed.DRBD, w.Observed.NoDRBD = drbd.Version{Tools: v9.Tools}, "not loaded"
		}), "remove LV vg0/rvol-db.0.0"},
		{"a volume of that name without our tags is not ours", empty(v9).created().releasing().with(func(w *world) {
			w.Observed.LVs[0].Reservation, w.Observed.LVs[0].UUID = "", "other"
		}), "released res-0"},
		{
			"the volume has lost its tags", empty(v9).created().releasing().with(func(w *world) { w.Observed.LVs[0].Reservation = "" }),
			"refused for good (foreign): LV vg0/rvol-db.0.0 (UUID " + lvUUID + ") lacks the tags...",
		},
		{
			"our tags are on a volume with another UUID", empty(v9).created().releasing().with(func(w *world) { w.Observed.LVs[0].UUID = "other" }),
			"refused for good (foreign): LV vg0/rvol-db.0.0 has UUID other...",
		},
		{"its UUID was never reported: the tags and the journal decide", empty(v9).created().releasing().with(func(w *world) {
			w.Desired.Releases[0].LVUUID = ""
		}), "remove LV vg0/rvol-db.0.0"},
		{"the resource is another replica's by now: it is left alone", empty(v9).formed().with(func(w *world) {
			w.Desired.Releases = []decide.Release{{Reservation: "res-9", Volume: "db", Resource: res, ReplicaUID: "uid-9", VG: "vg0", VGUUID: vgUUID, LV: "rvol-db.0.9", LVUUID: "gone"}}
		}), "released res-9"},
		{"the resource is the released replica's still: the new one waits", empty(v9).formed().with(func(w *world) {
			w.Desired.Releases = []decide.Release{{Reservation: "res-0", Volume: "db", Resource: res, ReplicaUID: "uid-0", VG: "vg0", VGUUID: vgUUID, LV: "rvol-db.0.0", LVUUID: lvUUID}}
			w.r().ReplicaUID, w.r().Devices[0].Backing.Reservation, w.r().Devices[0].Backing.LV = "uid-1", "res-1", "rvol-db.0.1"
		}), "take down rvol-db\nunlink drbd/by-res/rvol-db/0\nunlink rvol/db"},
		{"a diskless replica", empty(v9).with(func(w *world) {
			w.r().Type, w.r().Devices[0].Backing = decide.TieBreaker, nil
			w.settle()
			w.Desired.Resources = nil
			w.Desired.Releases = []decide.Release{{Reservation: "tb", Volume: "db", Resource: res, ReplicaUID: "uid-0"}}
		}), "unlink drbd/by-res/rvol-db/0\nunlink rvol/db\nremove file of rvol-db"},
		{"on hold", empty(v9).formed().releasing().with(func(w *world) { w.Desired.Hold = true }), ""},
	})
}
