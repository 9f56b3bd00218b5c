package control

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/decide/formation"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

const gib = 1 << 30

// bubble runs f on a cluster of n nodes with so many extents each, in fake time.
func bubble(t *testing.T, n int, extents int64, f func(c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCluster(t, ctx, n, extents)
		synctest.Wait() // every node was heard: what is asked for first finds them all
		f(c)
		cancel()
		synctest.Wait()
	})
}

func formed(volume string) func(state.View) bool {
	return func(v state.View) bool {
		vs, ok := state.Get[*model.VolumeStatus](v, volume)
		return ok && vs.Formed
	}
}

func TestAVolumeIsPlacedAndFormed(t *testing.T) {
	t.Parallel()
	bubble(t, 3, 1000, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "db-1 is formed", formed("db-1"))
		v := c.store.View()
		var nodes []string
		for r := range state.Under[*model.Replica](v, "db-1/") {
			nodes = append(nodes, r.Node)
			if r.Port != 17000 || r.Devices[0].Minor != 10000 {
				t.Errorf("replica %s has port %d and minor %d", r.Name, r.Port, r.Devices[0].Minor)
			}
			for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
				if res.State != model.Bound || res.Granted <= gib || res.Granted%(4<<20) != 0 {
					t.Errorf("reservation of %s: %s, %d bytes; want Bound, more than the size, whole extents", r.Name, res.State, res.Granted)
				}
			}
		}
		if !slices.Equal(nodes, []string{"n1", "n2"}) {
			t.Errorf("replicas on %v", nodes)
		}
		c.within(time.Minute, "the class counts it as aligned", func(v state.View) bool {
			cs, _ := state.Get[*model.ClassStatus](v, "r2")
			return cs.Volumes.Total == 1 && cs.Volumes.Aligned != nil && *cs.Volumes.Aligned == 1
		})
		before := c.store.View().Index()
		time.Sleep(5 * time.Minute)
		if after := c.store.View().Index(); after != before {
			c.mu.Lock()
			defer c.mu.Unlock()
			t.Errorf("five idle minutes wrote %d entries:\n%s", after-before, lines(c.causes[before:]))
		}
	})
}

func TestTwoVolumesNeverShareNumbers(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 10000, func(c *cluster) {
		c.class("r2", 1, 0)
		names := []string{"a", "b", "c", "d", "e"}
		for _, n := range names {
			c.volume(n, "r2", gib)
		}
		for _, n := range names {
			c.within(time.Minute, n+" is formed", formed(n))
		}
	})
}

func TestAVolumeThatFitsNowhereSaysSoAndIsPlacedWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 300, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("big", "r2", 2*gib)
		c.within(time.Minute, "the replicas say why", func(v state.View) bool {
			for r := range state.Under[*model.Replica](v, "big/") {
				c, ok := r.Conditions.Get("Scheduled")
				if !ok || c.Reason != "SchedulingFailed" || !strings.Contains(c.Message, "no capacity") {
					return false
				}
			}
			return len(waiting(v)) == 1
		})
		time.Sleep(3 * time.Minute)
		if vs := c.status("big"); vs.Formed || vs.Restarts != 0 {
			t.Errorf("formed %v after %d restarts: waiting for room must not restart", vs.Formed, vs.Restarts)
		}
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.size = 1000 })
		}
		c.within(time.Minute, "it is formed once the groups grew", formed("big"))
	})
}

func TestDeletionReleasesOnlyWhatIsProvenGone(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 1000, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "formed", formed("db-1"))
		c.change("n2", func(a *agent) { a.frozen = true })
		vol, _ := state.Get[*model.Volume](c.store.View(), "db-1")
		del := model.Clone(vol)
		del.DeletingSince = time.Now()
		c.put(del)
		c.within(time.Minute, "n1's part is gone", func(v state.View) bool {
			_, ok := state.Get[*model.Replica](v, "db-1/0")
			return !ok
		})
		time.Sleep(5 * time.Minute)
		v := c.store.View()
		if _, ok := state.Get[*model.Replica](v, "db-1/1"); !ok {
			t.Error("the replica on the silent node was given up")
		}
		if got := v.Charged(model.PoolID{Node: "n2", VG: "vg-n2"}); got < gib {
			t.Errorf("%d bytes are charged on the silent node: the space was given away without proof", got)
		}
		c.change("n2", func(a *agent) { a.frozen = false })
		c.within(time.Minute, "everything is gone", func(v state.View) bool {
			_, vol := state.Get[*model.Volume](v, "db-1")
			_, vs := state.Get[*model.VolumeStatus](v, "db-1")
			_, secret := state.Get[*model.Secret](v, model.VolumeSecret("db-1"))
			return !vol && !vs && !secret && v.Charged(model.PoolID{Node: "n2", VG: "vg-n2"}) == 0
		})
		for op := range state.All[*model.Operation](c.store.View()) {
			t.Errorf("operation %s is left", op.Name)
		}
	})
}

func TestNodesAreNotReadyAfterSilenceAndNotRightAfterAnElection(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 100, func(c *cluster) {
		c.change("n2", func(a *agent) { a.frozen = true }) // never says a word to this leader
		time.Sleep(14 * time.Second)
		if st, _ := state.Get[*model.NodeStatus](c.store.View(), "n2"); !st.Ready {
			t.Error("declared NotReady before the grace of a new leader was over")
		}
		c.within(15*time.Second, "n2 is NotReady", func(v state.View) bool {
			st, _ := state.Get[*model.NodeStatus](v, "n2")
			return !st.Ready && st.UpdatedBy == "monitor" && strings.Contains(st.Reason, "nothing heard")
		})
		c.change("n2", func(a *agent) { a.frozen = false })
		c.within(10*time.Second, "n2 is Ready again", func(v state.View) bool {
			st, _ := state.Get[*model.NodeStatus](v, "n2")
			return st.Ready && st.UpdatedBy == "heartbeat" && st.NotReadySince.IsZero()
		})
	})
}

func attach(c *cluster, volume, node string) {
	a := &model.Attachment{Volume: volume, Node: node}
	a.Name, a.CreatedAt = model.AttachmentName(volume, node), time.Now()
	c.put(a)
}

func granted(volume, node string) func(state.View) bool {
	return func(v state.View) bool {
		a, ok := state.Get[*model.Attachment](v, model.AttachmentName(volume, node))
		return ok && a.Granted && !a.Deleting()
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 1000, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "formed", formed("db-1"))
		attach(c, "db-1", "n1")
		c.within(time.Minute, "granted on n1", granted("db-1", "n1"))
		attach(c, "db-1", "n2")
		c.within(time.Minute, "n2 waits for the slot", func(v state.View) bool {
			a, _ := state.Get[*model.Attachment](v, "db-1/n2")
			return !a.Granted && a.Message == "another attachment has the slot"
		})
		c.change("n1", func(a *agent) { a.open = true })
		detach(c, "db-1", "n1")
		c.within(time.Minute, "n1 keeps it, with who holds it", func(v state.View) bool {
			a, ok := state.Get[*model.Attachment](v, "db-1/n1")
			return ok && !a.Deleting() && a.Granted && strings.Contains(a.Message, "mount (pid 12)")
		})
		c.change("n1", func(a *agent) { a.open = false })
		time.Sleep(time.Second)
		detach(c, "db-1", "n1")
		c.within(time.Minute, "n2 gets the slot", granted("db-1", "n2"))
	})
}

func detach(c *cluster, volume, node string) {
	a, _ := state.Get[*model.Attachment](c.store.View(), model.AttachmentName(volume, node))
	d := model.Clone(a)
	d.DeletingSince = time.Now()
	c.put(d)
}

func TestOnDRBD84OneCopyThatWentOnAloneKeepsTheOtherOut(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 1000, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "formed", formed("db-1"))
		attach(c, "db-1", "n1")
		c.within(time.Minute, "granted on n1", granted("db-1", "n1"))
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.lost = true })
		}
		c.within(time.Minute, "sole is n1's replica", func(state.View) bool {
			s := c.status("db-1").Sole
			return s != nil && *s == 0
		})
		detach(c, "db-1", "n1")
		attach(c, "db-1", "n2")
		c.within(time.Minute, "n2 is told why it may not", func(v state.View) bool {
			a, _ := state.Get[*model.Attachment](v, "db-1/n2")
			return strings.Contains(a.Message, "it has writes that this one lacks")
		})
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.lost = false })
		}
		c.within(time.Minute, "together again: n2 may", granted("db-1", "n2"))
		if s := c.status("db-1").Sole; s != nil {
			t.Errorf("sole is still %d", *s)
		}
	})
}

func TestWhatWasSeenBeforeAGrantDoesNotEndIt(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 1000, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "formed", formed("db-1"))
		attach(c, "db-1", "n1")
		c.within(time.Minute, "granted on n1", granted("db-1", "n1"))
		c.change("n2", func(a *agent) { a.blind = true }) // still says that it is connected
		vs := model.Clone(c.status("db-1"))
		vs.GoesAlone(0)
		c.put(vs)
		time.Sleep(time.Minute)
		if c.status("db-1").Sole == nil {
			t.Error("sole was cleared by a report that knows nothing of the grant")
		}
		c.change("n2", func(a *agent) { a.blind = false })
		c.within(time.Minute, "cleared when both have looked again", func(state.View) bool { return c.status("db-1").Sole == nil })
	})
}

func TestAFenceIsLiftedOnlyWhenTheNodeHasReadIt(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 1000, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "formed", formed("db-1"))
		n, _ := state.Get[*model.Node](c.store.View(), "n1")
		f := model.Clone(n)
		f.Fenced = &model.Fence{By: "admin/a", At: time.Now(), Epoch: 1}
		c.put(f)
		time.Sleep(time.Minute)
		if n, _ := state.Get[*model.Node](c.store.View(), "n1"); n.Fenced == nil {
			t.Error("the fence was lifted by the registration it speaks of")
		}
		st, _ := state.Get[*model.NodeStatus](c.store.View(), "n1")
		again := model.Clone(st)
		again.Epoch = 2
		c.put(again)
		c.within(time.Minute, "lifted after it registered anew", func(v state.View) bool {
			n, _ := state.Get[*model.Node](v, "n1")
			return n.Fenced == nil
		})
	})
}

func TestFormationStartsAgainWithBackOffAndOnlyOnReports(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 1000, func(c *cluster) {
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.lost = true })
		}
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "connecting", func(state.View) bool {
			f := c.status("db-1").Formation
			return f != nil && f.Steps[f.Active()].Name == formation.EstablishConnectivity
		})
		c.change("n2", func(a *agent) { a.frozen = true })
		c.inv.Close("n2", c.nodes["n2"].session)
		time.Sleep(3 * time.Minute)
		if n := c.status("db-1").Restarts; n != 0 {
			t.Errorf("%d restarts while an agent was silent", n)
		}
		c.change("n2", func(a *agent) { a.frozen, a.session = false, 0 })
		c.within(70*time.Second, "one restart after the minute", func(state.View) bool { return c.status("db-1").Restarts == 1 })
		old := c.status("db-1").Datamesh.Revision
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.lost = false })
		}
		c.within(time.Minute, "formed at last", formed("db-1"))
		if rev := c.status("db-1").Datamesh.Revision; rev <= old {
			t.Errorf("revision %d after %d: it must count on", rev, old)
		}
		for r := range state.Under[*model.Replica](c.store.View(), "db-1/") {
			if r.ID < 2 {
				t.Errorf("replica id %d was used again at once", r.ID)
			}
		}
	})
}
