package inventory

import (
	"testing"
	"time"
)

func TestAnOlderSessionIsIgnored(t *testing.T) {
	t.Parallel()
	inv := New()
	now := time.Unix(100, 0)
	old := inv.Open("n1", now)
	young := inv.Open("n1", now)
	if inv.Update("n1", old, now, func(n *Node) { n.Full = true }) {
		t.Error("a report of the older session was taken")
	}
	inv.Close("n1", old)
	if n := inv.View().Node("n1"); !n.Connected || n.Full {
		t.Errorf("after an older session ended: connected %v, full %v, want true, false", n.Connected, n.Full)
	}
	if !inv.Update("n1", young, now, func(n *Node) { n.Full = true }) || !inv.View().Node("n1").Known() {
		t.Error("the newest session's full report does not make the node known")
	}
}

func TestANewSessionKeepsFactsButDoesNotRelyOnThem(t *testing.T) {
	t.Parallel()
	inv := New()
	s := inv.Open("n1", time.Unix(1, 0))
	inv.Update("n1", s, time.Unix(2, 0), func(n *Node) { n.Full, n.VGs = true, []VG{{Name: "vg0"}} })
	inv.Close("n1", s)
	if inv.View().Node("n1").Known() {
		t.Error("a node without a session is known")
	}
	inv.Open("n1", time.Unix(3, 0))
	n := inv.View().Node("n1")
	if n.Known() || len(n.VGs) != 1 {
		t.Errorf("known %v with %d volume groups, want facts that are not relied on", n.Known(), len(n.VGs))
	}
}

func TestViewsDoNotChangeAndWatchersHear(t *testing.T) {
	t.Parallel()
	inv := New()
	var heard []string
	stop := inv.Watch(func(n string) { heard = append(heard, n) })
	s := inv.Open("n1", time.Unix(1, 0))
	before := inv.View()
	inv.Update("n1", s, time.Unix(2, 0), func(n *Node) { n.Full = true })
	inv.Heard("n1", s, time.Unix(9, 0))
	stop()
	inv.Close("n1", s)
	if before.Node("n1").Full {
		t.Error("a view changed after it was taken")
	}
	if len(heard) != 2 {
		t.Errorf("watcher heard %v, want the opening and the update", heard)
	}
	if got := inv.View().Node("n1").Heard; got != time.Unix(9, 0) {
		t.Errorf("last heard %v, want the sign of life", got)
	}
	inv.Reset()
	if inv.View().Node("n1") != nil {
		t.Error("a reset inventory knows a node")
	}
}
