package scheduling_test

import (
	"fmt"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

func ExampleRun() {
	const gib = 1 << 30
	lvg := func(available int64) []scheduling.LVG {
		return []scheduling.LVG{{Name: "vg0", Ready: true, Capacity: scheduling.Room(available*gib, 100*gib)}}
	}
	result := scheduling.Run(scheduling.Input{
		Candidates: scheduling.Prepare([]scheduling.Node{
			{Name: "a", Ready: true, AgentReady: true, LVGs: lvg(90)},
			{Name: "b", Ready: true, AgentReady: true, LVGs: lvg(60)},
			{Name: "c", Ready: true, AgentReady: false, LVGs: lvg(90)},
		}),
		Layout: layout.Formula(1, 1),
		Size:   20 * gib,
		Replicas: []scheduling.Replica{
			{ID: 0, Type: scheduling.Diskful}, {ID: 1, Type: scheduling.Diskful}, {ID: 2, Type: scheduling.Diskful},
		},
	})
	for _, p := range result.Replicas {
		fmt.Printf("%d %q: %s\n", p.ID, p.Place, p.Message)
	}
	// Output:
	// 0 "a/vg0": Replica scheduled successfully
	// 1 "b/vg0": Replica scheduled successfully
	// 2 "": 3 candidates (node×LVG) from 3 eligible nodes; 1 excluded: node not ready; 2 excluded: node occupied
}
