package state_test

import (
	"fmt"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// A pool of 10 GiB takes a reservation of 8 GiB, and refuses another one of 4.
func Example() {
	pool := model.PoolID{Node: "n1", VG: "uuid-of-vg0"}
	reserve := func(uid string, bytes int64) *model.Reservation {
		return &model.Reservation{Meta: model.Meta{Name: uid}, Pool: pool, VGName: "vg0", Granted: bytes}
	}
	first, _ := state.NewTxn("agent/n1", "report vg0 of node n1").Put(&model.Capacity{
		Meta: model.Meta{Name: pool.String()}, Pool: pool, VGName: "vg0", ExtentSize: 4 << 20, Extents: 2560, Percent: 100,
	}).Txn()
	second, _ := state.NewTxn("controller/scheduling", "place db-1/0 on node n1, vg0").Put(reserve("r1", 8<<30)).Txn()
	third, _ := state.NewTxn("controller/scheduling", "place db-2/0 on node n1, vg0").Put(reserve("r2", 4<<30)).Txn()

	store := state.NewStore(state.Options{})
	for i, txn := range []state.Txn{first, second, third} {
		encoded, _ := state.EncodeTxn(txn)
		entry := state.EncodeEntry(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), encoded)
		results, err := store.Apply(uint64(i+1), entry)
		fmt.Println(txn.Cause+":", results[0].Err(), err)
	}
	fmt.Println("charged:", store.View().Charged(pool)>>30, "GiB at index", store.Index())
	// Output:
	// report vg0 of node n1: <nil> <nil>
	// place db-1/0 on node n1, vg0: <nil> <nil>
	// place db-2/0 on node n1, vg0: pool n1/vg0: 4 GiB asked, 2 GiB available of 10 GiB <nil>
	// charged: 8 GiB at index 3
}
