package drbdtest_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// threeCopies are formed and together, a Primary.
func threeCopies(t *testing.T) *mesh {
	t.Helper()
	m := newMesh(t, drbdtest.V9, "a", "b", "c")
	m.adjust()
	m.ok(m.tools["a"].NewCurrentUUID(t.Context(), 1000, drbd.SkipInitialSync))
	m.ok(m.tools["a"].Primary(t.Context(), m.ref("a")))
	return m
}

func (m *mesh) disk(name string) drbd.DiskState {
	m.Helper()
	return m.status(name).Devices[0].Disk
}

// TestAResyncFromBesideAPrimaryIsNotTheLastWord: what the Primary writes meanwhile, and
// afterwards, goes to its neighbour and not beyond. drbd_sender.c, was_resync_stable.
func TestAResyncFromBesideAPrimaryIsNotTheLastWord(t *testing.T) {
	for _, ends := range []struct {
		how  string
		what func(m *mesh)
	}{
		{"the Primary is gone", func(m *mesh) { m.nodes["a"].PowerOff() }},
		{"the Primary is demoted", func(m *mesh) { m.ok(m.tools["a"].Secondary(m.Context(), m.ref("a"))) }},
		{"the Primary is there again", func(m *mesh) { m.fabric.Heal() }},
	} {
		t.Run(ends.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := threeCopies(t)
				m.fabric.Isolate("c")
				time.Sleep(time.Minute)
				m.ok(m.nodes["a"].Write(t.Context(), 1000, 0, bytes.Repeat([]byte{1}, 4096)))
				m.fabric.HealLink("b", "c")
				time.Sleep(time.Minute)
				m.want("c, which got it from b", m.disk("c"), drbd.Inconsistent)
				m.ok(m.nodes["a"].Write(t.Context(), 1000, 8192, bytes.Repeat([]byte{2}, 4096)))
				ends.what(m)
				time.Sleep(time.Minute)
				m.want("c at last", m.disk("c"), drbd.UpToDate)
				got := make([]byte, 4096)
				_, err := m.disks["c"].Disk("/dev/vg0/r0.0").ReadAt(got, 8192)
				m.ok(err)
				m.want("what c has", got[0], byte(2))
			})
		})
	}
}

// TestAPrimaryWithoutGoodDataTakesThoseOfWhoComes: only data that are good are not to be
// written over. drbd_receiver.c, "I shall become SyncTarget, but I am primary!".
func TestAPrimaryWithoutGoodDataTakesThoseOfWhoComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := threeCopies(t)
		m.ok(m.tools["a"].Secondary(t.Context(), m.ref("a")))
		m.fabric.Isolate("a")
		m.ok(m.tools["c"].Down(t.Context(), "r0"))
		m.newDisk("c", 0, 64<<20)
		m.ok(m.tools["c"].Up(t.Context(), m.ref("c")))
		time.Sleep(900 * time.Millisecond)
		m.ok(m.tools["c"].Primary(t.Context(), m.ref("c")))
		m.fabric.Isolate("b")
		time.Sleep(time.Minute)
		m.want("c, half copied", m.disk("c"), drbd.Inconsistent)
		m.fabric.HealLink("a", "c")
		time.Sleep(time.Minute)
		m.want("c, which a has come to", m.disk("c"), drbd.UpToDate)
		m.want("role of c", m.status("c").Role, drbd.Primary)
	})
}
