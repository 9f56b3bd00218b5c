package act_test

import (
	"strings"
	"testing"

	"rvol/agent/decide"
	"rvol/drbd/drbdtest"
)

func TestAVolumeGroupIsMadeOfAnEmptyDiskAndOfNoOther(t *testing.T) {
	world(t, drbdtest.V84, func(t *testing.T, p *pair) {
		n := p.nodes[0]
		n.LVM.AddDisk("/dev/sdx", 1<<30)
		n.start()
		n.give(func(d *decide.Desired) {
			for id, vg := range map[string]decide.CreateVG{
				"empty": {VG: "vgx", Device: "/dev/sdx", ThinPool: "tp"}, "used": {VG: "vgy", Device: "/dev/sd-vg0"},
			} {
				d.Operations = append(d.Operations, decide.Operation{ID: id, Type: decide.CreateVGOperation, CreateVG: &vg})
			}
		})
		wait(t, "both operations have ended", func() bool { return len(n.journal.Results()) == 2 })
		for _, r := range n.journal.Results() {
			if want := r.ID == "empty"; r.Succeeded != want || !want && !strings.Contains(r.Text, "/dev/sd-vg0 is not empty") {
				t.Errorf("%+v", r)
			}
		}
		if n.vgUUID("vgx") == "" {
			t.Error("there is no vgx")
		}
	})
}
