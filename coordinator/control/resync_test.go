package control

import (
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/decide/resync"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
	"rvol/drbd"
)

// A copy is filled, stops, goes on, is paused and is done: what is told of it at the end of each.
func TestAResyncThatDoesNotGetOnIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, inv, c := state.NewStore(state.Options{}), inventory.New(), NewResync()
		var clock held
		put := func(o model.Object) {
			txn, err := state.NewTxn("test", "put").Put(o).Txn()
			if err == nil {
				_, err = statetest.Apply(store, time.Now(), txn)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		put(&model.VolumeStatus{Meta: model.Meta{Name: "db"}, Formed: true})
		put(&model.Replica{Meta: model.Meta{Name: "db/0", UID: "uid-0"}, Volume: "db", Type: model.Diskful, Node: "n1", Port: 17000})
		session := inv.Open("n1", time.Now())
		look := func(s drbd.ReplState, left int64) {
			inv.Update("n1", session, time.Now(), func(n *inventory.Node) {
				n.Full = true
				n.Resources = []inventory.Resource{{Name: "rvol-db", Peers: []inventory.Peer{{NodeID: 1, Devices: []inventory.PeerDevice{{Replication: s, OutOfSync: left}}}}}}
			})
			out, err := c.Decide(World{State: store.View(), Inventory: inv.View(), Now: time.Now(), Held: clock.lasting}, "db")
			if err != nil {
				t.Fatal(err)
			}
			if out.Txn != nil {
				txn, err := out.Txn.Txn()
				if err == nil {
					_, err = statetest.Apply(store, time.Now(), txn)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if again := s != drbd.Established; again != (out.Again > 0) {
				t.Errorf("%s: looks again after %s", s, out.Again)
			}
		}
		for _, phase := range []struct {
			name    string
			state   drbd.ReplState
			minutes int
			step    int64 // copied each minute
			want    string
		}{
			{"it gets on", drbd.SyncTarget, 30, 4096, ""},
			{"it stands still for a while", drbd.SyncTarget, 9, 0, ""},
			{"and for long", drbd.SyncTarget, 3, 0, resync.NoProgress},
			{"it goes on", drbd.SyncTarget, 1, 4096, ""},
			{"it is paused", drbd.PausedSyncT, 12, 0, resync.Paused},
			{"it is done", drbd.Established, 1, 0, ""},
			{"another begins where that one stood", drbd.SyncTarget, 5, 0, ""},
		} {
			left := int64(1 << 30)
			if phase.step == 0 {
				left = 1 << 20
			}
			for range phase.minutes {
				left -= phase.step
				look(phase.state, left)
				time.Sleep(time.Minute)
			}
			vs, _ := state.Get[*model.VolumeStatus](store.View(), "db")
			if got, _ := vs.Conditions.Get(resync.Stuck); got.Reason != phase.want {
				t.Errorf("%s: %q %q, want %q", phase.name, got.Reason, got.Message, phase.want)
			}
		}
	})
}
