package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
	"rvol/drbd"
)

func TestFirstDataGeneration(t *testing.T) {
	run := "create the first data generation of rvol-db (operation op)"
	started := func(w *world) { w.Facts.Operations["op"] = decide.OperationFact{Started: true} }
	born := func(w *world) {
		w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Attached: true}
		w.kernel().Devices[0].Disk = drbd.UpToDate
	}
	check(t, []planCase{
		{"all guards hold on DRBD 9", empty(v9).granted(), run},
		{"all guards hold on DRBD 8.4", empty(v84).granted(), run},
		{"it was begun, and did not happen", empty(v9).granted().with(started), run},
		{"it was begun, and happened", empty(v9).granted().with(started).with(born), "finish operation op"},
		{"it has ended", empty(v9).granted().with(func(w *world) {
			w.Facts.Operations["op"] = decide.OperationFact{Started: true, Result: &decide.Result{ID: "op"}}
		}), ""},
		{"the device holds data and nothing was begun", empty(v9).granted().with(born), "finish operation op"},
		{
			"the peer is not connected", empty(v9).granted().with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }),
			"operation op waits: peer 1 is not connected",
		},
		{"the peer is gone on DRBD 8.4", empty(v84).granted().with(func(w *world) { w.kernel().Peers = nil }), "operation op waits: peer 1 is not connected"},
		{
			"the peer holds data", empty(v9).granted().with(func(w *world) { w.kernel().Peers[0].Devices[0].Disk = drbd.UpToDate }),
			"operation op waits: device 0 of peer 1 is UpToDate Established, want Inconsistent Established",
		},
		{
			"the own disk is gone", empty(v9).granted().with(func(w *world) { w.kernel().Devices[0].Disk = drbd.Diskless }),
			"refused (other): metadata of vg0/rvol-db.0.0 could not be read: not looked at",
		},
		{
			"the generation could not be read", empty(v9).granted().with(func(w *world) { delete(w.Observed.Metadata, lvUUID) }),
			"operation op waits: the data generation of device 0 could not be read",
		},
		{
			"the own disk is Outdated", empty(v9).granted().with(func(w *world) { w.kernel().Devices[0].Disk = drbd.Outdated }),
			"operation op waits: device 0 is Outdated, want Inconsistent",
		},
		{
			"the node runs another revision", empty(v9).granted().with(func(w *world) { w.r().Revision = 3 }),
			"operation op waits: the node runs another revision than 2",
		},
		{"the volume is formed", empty(v9).granted().with(func(w *world) { w.r().Formed = true }), "finish operation op"},
		{"the grant is for another volume", empty(v9).granted().with(func(w *world) { w.Desired.Operations[0].NewUUID.LVUUIDs[0] = "other" }), "finish operation op"},
		{"the grant knows other peers", empty(v9).granted().with(func(w *world) { w.Desired.Operations[0].NewUUID.Peers = nil }), "finish operation op"},
		{"the metadata was not made here", empty(v9).granted().with(func(w *world) {
			w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0", LVUUID: lvUUID}
		}), "finish operation op"},
		{"the only replica, on DRBD 9, which cannot be asked", empty(v9).granted().with(func(w *world) {
			w.Desired.Operations[0].NewUUID.Peers, w.r().Peers, w.kernel().Peers = nil, nil, nil
			delete(w.Observed.Metadata, lvUUID)
			w.settle()
		}), run},
		{"on hold", empty(v9).granted().with(func(w *world) { w.Desired.Hold = true }), ""},
	})
	for version, want := range map[drbd.Version]drbd.InitialSync{v9: drbd.SkipInitialSync, v84: drbd.FullInitialSync} {
		alone := empty(version).granted().with(func(w *world) {
			w.Desired.Operations[0].NewUUID.Peers, w.r().Peers, w.kernel().Peers = nil, nil, nil
			w.settle()
		})
		plan := decide.Next(alone.Input, res)
		if s, ok := plan.Steps[0].(decide.NewCurrentUUID); !ok || s.Sync != want {
			t.Errorf("the only replica, on DRBD %s: %v, want sync %v", version, plan.Steps, want)
		}
	}
	for name, w := range map[string]*world{
		"the device holds data and nothing was begun": empty(v9).granted().with(born),
		"the grant is for another volume":             empty(v9).granted().with(func(w *world) { w.Desired.Operations[0].NewUUID.LVUUIDs[0] = "other" }),
	} {
		plan := decide.Next(w.Input, res)
		if f, ok := plan.Steps[0].(decide.Finish); !ok || f.Result.Succeeded {
			t.Errorf("%s: %v", name, plan.Steps)
		}
	}
	plan := decide.Next(empty(v9).granted().with(started).with(born).Input, res)
	if f, ok := plan.Steps[0].(decide.Finish); !ok || !f.Result.Succeeded || !f.Result.Interrupted {
		t.Errorf("begun and happened: %v", plan.Steps)
	}
}

func TestVolumeGroupsAreMadeOnce(t *testing.T) {
	order := func(w *world) *world {
		w.Desired.Resources = nil
		w.Desired.Operations = []decide.Operation{{ID: "op", Type: decide.CreateVGOperation, CreateVG: &decide.CreateVG{VG: "vg1", Device: "/dev/sdb", ThinPool: "tp"}}}
		return w
	}
	there := func(w *world) {
		w.Observed.VGs = append(w.Observed.VGs, decide.VG{Name: "vg1", ThinPools: []decide.ThinPool{{Name: "tp"}}})
	}
	started := func(w *world) { w.Facts.Operations["op"] = decide.OperationFact{Started: true} }
	for _, c := range []planCase{
		{"nothing is there", order(empty(v9)), "create volume group vg1 on /dev/sdb (operation op)"},
		{"somebody made one of that name", order(empty(v9)).with(there), "finish operation op"},
		{
			"it was begun and half done", order(empty(v9)).with(started).with(there).with(func(w *world) { w.Observed.VGs[1].ThinPools = nil }),
			"create volume group vg1 on /dev/sdb (operation op)",
		},
		{"it was begun and happened", order(empty(v9)).with(started).with(there), "finish operation op"},
		{"LVM could not be read", order(empty(v9)).with(func(w *world) { w.Observed.LVMError = "garbage" }), ""},
		{"on hold", order(empty(v9)).with(func(w *world) { w.Desired.Hold = true }), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := c.w.Desired.Keys()
			if diff := cmp.Diff(c.want, says(decide.Next(c.w.Input, keys[0]))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
