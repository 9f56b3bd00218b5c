package control

import (
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
)

// A registration is committed before the session it opens is heard, and what was heard before it says nothing of the node any
// more: the node gets its full time to speak, and no longer.
func TestARegistrationIsASignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, inv := state.NewStore(state.Options{}), inventory.New()
		c := Node{NotReadyAfter: 20 * time.Second, Interval: 5 * time.Second}
		var clock held
		put := func(b *state.Build) {
			txn, err := b.Txn()
			if err == nil {
				_, err = statetest.Apply(store, time.Now(), txn)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		status := func() *model.NodeStatus {
			st, _ := state.Get[*model.NodeStatus](store.View(), "n1")
			return st
		}
		decide := func() {
			t.Helper()
			out, err := c.Decide(World{State: store.View(), Inventory: inv.View(), Now: time.Now(), Held: clock.lasting}, "n1")
			if err != nil {
				t.Fatal(err)
			}
			if out.Txn != nil {
				put(out.Txn)
			}
		}
		pass := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); decide() {
				time.Sleep(time.Second)
			}
		}
		register := func() {
			st := &model.NodeStatus{Meta: model.Meta{Name: "n1"}}
			if old := status(); old != nil {
				st = model.Clone(old)
			}
			st.Epoch++
			st.Ready, st.Reason, st.UpdatedBy, st.NotReadySince = true, "its agent registered", "register", time.Time{}
			put(state.NewTxn("agent/n1", "registers").Put(st))
		}
		want := func(when string, ready bool, by string) {
			t.Helper()
			if st := status(); st.Ready != ready || st.UpdatedBy != by {
				t.Fatalf("%s: ready %v by %s (%s), want %v by %s", when, st.Ready, st.UpdatedBy, st.Reason, ready, by)
			}
		}

		put(state.NewTxn("test", "put").Put(&model.Node{Meta: model.Meta{Name: "n1"}}))
		register()
		session := inv.Open("n1", time.Now())
		inv.Update("n1", session, time.Now(), func(n *inventory.Node) { n.Full = true })
		pass(18 * time.Second)
		inv.Heard("n1", session, time.Now())
		inv.Close("n1", session)
		pass(18 * time.Second)
		want("silent for 18 s", true, "register")
		pass(4 * time.Second)
		want("silent for 22 s", false, "monitor")

		register()
		decide()
		want("registered, its session not open yet", true, "register")
		session = inv.Open("n1", time.Now())
		inv.Update("n1", session, time.Now(), func(n *inventory.Node) { n.Full = true })
		decide()
		want("its session is open", true, "register")

		inv.Close("n1", session)
		register()
		pass(18 * time.Second)
		want("registered 18 s ago, nothing heard since", true, "register")
		pass(4 * time.Second)
		want("registered 22 s ago, nothing heard since", false, "monitor")
	})
}
