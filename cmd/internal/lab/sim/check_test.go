package sim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCheckFindsWhatWasDoneToNodes does by hand, behind the back of everybody, what nobody should, and
// looks for it in `rvol cluster check`.
func TestCheckFindsWhatWasDoneToNodes(t *testing.T) {
	t.Parallel()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "check.log"))
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Dir: dir, Nodes: 3, Coordinators: 1, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // what failed before is what counts
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := c.Start(ctx); err != nil {
			t.Fatal(err)
		}
		m := &mender{t: t, s: NewScripted(c)}
		must(t, m.s, "lvg create n2 vg0")
		must(t, m.s, "lvg create n3 vg0")
		must(t, m.s, "class create r2 --ftt 0 --gmdr 1 --type LVM --vg vg0 --trust-zeroed")
		m.form("v1")
		for _, id := range []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10"} {
			m.finds(id + " True")
		}
		m.tool("n2", "drbdsetup new-resource rvol-ghost")
		m.finds("unknown-resource n2 rvol-ghost")
		m.finds("I7 False")
		m.tool("n2", "drbdsetup down rvol-ghost")
		n3, err := m.s.Node("n3")
		m.ok(err)
		stale := filepath.Join(n3.Root, "etc/drbd.d/rvol/rvol-gone.res")
		m.ok(os.WriteFile(stale, []byte("# of a volume that was\n"), 0o600))
		m.finds("stale-file n3 rvol-gone")
		m.finds("I7 False")
		m.ok(os.Remove(stale))
		m.finds("I7 True")
		m.ok(m.s.StopAgent("n3"))
		m.tool("n3", "drbdsetup down rvol-v1")
		m.tool("n3", "lvremove --yes vg0/rvol-v1.0.1")
		m.ok(m.s.StartAgent("n3"))
		m.finds("missing-lv n3 rvol-v1.0.1")
		m.finds("not-up n3 v1/1")
		m.finds("I3 False")
	})
}

// finds waits until a check says it, whatever the space between its words.
func (m *mender) finds(want string) {
	m.t.Helper()
	said := ""
	for range 120 {
		said = m.say("cluster check")
		if strings.Contains(strings.Join(strings.Fields(said), " "), want) {
			return
		}
		time.Sleep(time.Second)
	}
	m.t.Fatalf("check does not find %q:\n%s", want, said)
}

func (m *mender) tool(node, line string) {
	m.t.Helper()
	out, err := m.s.Tool(m.t.Context(), node, strings.Fields(line))
	if err != nil {
		m.t.Fatal(errors.Join(err, errors.New(out)))
	}
}
