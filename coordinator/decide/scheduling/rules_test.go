package scheduling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		in    scheduling.Input
		world string
		want  string
	}{
		{
			name: "the highest score wins, then the node's name, then the LVG's, then the thin pool's",
			in:   scheduling.Input{Layout: layout.Formula(1, 1), Thin: true, VolumeAccess: scheduling.AccessAny},
			world: `node b vg0/tp0=5
				node a vg1/tp1=5 vg1/tp0=5 vg2/tp0=5
				node c vg0/tp0=7
				replica 0 D
				replica 1 D
				replica 2 D`,
			want: `0 c/vg0/tp0
				1 a/vg1/tp0
				2 b/vg0/tp0`,
		},
		{
			name: "ids are numbers: 2 comes before 10",
			in:   scheduling.Input{Layout: layout.Formula(0, 1)},
			world: `node a vg=9
				node b vg=5
				replica 10 D
				replica 2 D`,
			want: `2 a/vg
				10 b/vg`,
		},
		{
			name: "a deleting replica is never placed, and its node stays taken",
			in:   scheduling.Input{Layout: layout.Formula(0, 0)},
			world: `node a vg=9
				node b vg=1
				replica 0 D at a/vg deleting
				replica 1 D deleting
				replica 2 D`,
			want: `0 a/vg
				1 - unchanged
				2 b/vg`,
		},
		{
			name: "an access replica takes its node and is not scheduled",
			in:   scheduling.Input{Layout: layout.Formula(0, 0)},
			world: `node a vg=9
				replica 0 A at a
				replica 1 D`,
			want: `0 a absent
				1 - False SchedulingFailed: 1 candidates (node×LVG) from 1 eligible nodes; 1 excluded: node occupied
				search found false`,
		},
		{
			name: "each rule counts what it excluded, in order",
			in:   scheduling.Input{Layout: layout.Formula(0, 1), Size: 50, DRBD: "9", Refused: []scheduling.Place{{Node: "g", LVG: "vg"}}},
			world: `node a drbd=9 vg=1 vg2=2 down
				node b drbd=9 vg=1 agentless
				node c drbd=9 vg=1 cordoned
				node d drbd=9 vg=!1 vg2=!2
				node e drbd=8.4 vg=1
				node f drbd=9 vg=1
				node g drbd=9 vg=1
				node h drbd=9 vg=49/100
				node i drbd=9 vg=?
				replica 0 D at f/vg
				replica 1 D`,
			want: `0 f/vg
				1 - False ExtenderUnavailable: 11 candidates (node×LVG) from 9 eligible nodes; 4 excluded: node not ready; ` +
				`2 excluded: LVG not ready; 1 excluded: DRBD version; 1 excluded: node occupied; 1 excluded: refused for capacity; ` +
				`1 excluded: scoring (no capacity); 1 excluded: scoring (capacity unknown)
				search found false`,
		},
		{
			name: "a place that refused is passed over for the next best",
			in:   scheduling.Input{Layout: layout.Formula(0, 0), Refused: []scheduling.Place{{Node: "a", LVG: "vg0"}, {Node: "b", LVG: "vg0"}}},
			world: `node a vg0=9 vg1=2
				node b vg0=8
				replica 0 D`,
			want: `0 a/vg1`,
		},
		{
			name: "unknown capacity does not stop a replica that has a known place, nor the tie-breaker",
			in:   scheduling.Input{Layout: layout.Formula(1, 0)},
			world: `node a vg=?
				node b vg=1
				node c
				replica 0 D
				replica 1 D
				replica 2 TB`,
			want: `0 b/vg
				1 - False ExtenderUnavailable: 2 candidates (node×LVG) from 3 eligible nodes; 1 excluded: node occupied; 1 excluded: scoring (capacity unknown)
				2 a
				search found false`,
		},
		{
			name: "the node that wants the volume gets it, whatever its score",
			in:   scheduling.Input{Layout: layout.Formula(0, 0), AttachTo: []string{"c", "nowhere"}},
			world: `node a vg=10
				node c vg=1
				replica 0 D`,
			want: `0 c/vg`,
		},
		{
			name: "a node with two places wins a tie when access matters",
			in:   scheduling.Input{Layout: layout.Formula(0, 0), VolumeAccess: scheduling.AccessLocal},
			world: `node a vg=6
				node b vg=5 vg2=4
				replica 0 D`,
			want: `0 b/vg`,
		},
		{
			name: "a node with two places wins nothing when access is Any",
			in:   scheduling.Input{Layout: layout.Formula(0, 0), VolumeAccess: scheduling.AccessAny},
			world: `node a vg=6
				node b vg=5 vg2=4
				replica 0 D`,
			want: `0 a/vg`,
		},
		{
			name: "zonal: a zone too small for the rest is avoided",
			in:   scheduling.Input{Layout: layout.Formula(1, 1), Topology: layout.Zonal},
			world: `node a1 zone=a vg=10
				node b1 zone=b vg=8
				node b2 zone=b vg=7
				node b3 zone=b vg=6
				replica 0 D
				replica 1 D
				replica 2 D`,
			want: `0 b1/vg
				1 b2/vg
				2 b3/vg`,
		},
		{
			name: "zonal: the tie-breaker follows the Diskful",
			in:   scheduling.Input{Layout: layout.Formula(1, 0), Topology: layout.Zonal},
			world: `node a1 zone=a
				node b1 zone=b vg=1
				node b2 zone=b vg=1
				node b3 zone=b
				replica 0 D
				replica 1 D
				replica 2 TB`,
			want: `0 b1/vg
				1 b2/vg
				2 b3`,
		},
		{
			name: "transzonal: one per zone, the tie-breaker where there is least",
			in:   scheduling.Input{Layout: layout.Formula(2, 1), Topology: layout.TransZonal},
			world: `node a1 zone=a vg=5
				node a2 zone=a vg=5
				node b1 zone=b vg=5
				node b2 zone=b vg=5
				node c1 zone=c vg=5
				node c2 zone=c vg=5
				replica 0 D
				replica 1 D
				replica 2 D
				replica 3 D
				replica 4 TB`,
			want: `0 a1/vg
				1 b1/vg
				2 c1/vg
				3 a2/vg
				4 b2`,
		},
		{
			name: "a replica with a node gets an LVG there and nowhere else",
			in:   scheduling.Input{Layout: layout.Formula(0, 0)},
			world: `node a vg=9
				node b vg=1 vg2=3
				replica 0 D at b`,
			want: `0 b/vg2`,
		},
		{
			name: "a replica whose node left the pool waits, and says so",
			in:   scheduling.Input{Layout: layout.Formula(0, 0)},
			world: `node a vg=9
				replica 0 D at gone`,
			want: `0 gone False SchedulingFailed: 1 candidates (node×LVG) from 1 eligible nodes; 1 excluded: node mismatch (assigned)
				search found false`,
		},
		{
			name:  "without a pool everything waits",
			in:    scheduling.Input{Missing: scheduling.PoolMissing},
			world: `replica 0 D at a/vg`,
			want:  `0 a/vg Unknown WaitingForReplicatedVolume: ReplicatedStoragePool not found; waiting for it to be present`,
		},
		{
			name:  "without replicas there is nothing to do",
			world: `node a vg=1`,
			want:  ``,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nodes, replicas := world(t, tc.world)
			tc.in.Candidates, tc.in.Replicas = scheduling.Prepare(nodes), replicas
			if diff := cmp.Diff(unindent(tc.want), outcome(scheduling.Run(tc.in))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCapacityThatChangesIsSeenByTheNextDecision(t *testing.T) {
	nodes, replicas := world(t, "node a vg=1/100 vg2=?\nnode b vg=2/100\nreplica 0 D")
	in := scheduling.Input{Candidates: scheduling.Prepare(nodes), Replicas: replicas, Layout: layout.Formula(0, 0), Size: 10}
	if got := scheduling.Run(in).Replicas[0]; got.Scheduled != scheduling.False {
		t.Fatalf("placed on %v, where it does not fit", got.Place)
	}
	if !in.Candidates.SetCapacity(scheduling.Place{Node: "a", LVG: "vg2"}, scheduling.Room(90, 100)) {
		t.Fatal("a/vg2 is not known")
	}
	if got := scheduling.Run(in).Replicas[0]; got.Place != (scheduling.Place{Node: "a", LVG: "vg2"}) {
		t.Errorf("placed on %v", got.Place)
	}
	if in.Candidates.SetCapacity(scheduling.Place{Node: "a", LVG: "vg3"}, scheduling.Room(1, 1)) {
		t.Error("a/vg3 is known")
	}
}

func TestTheExplanationTellsEveryAlternative(t *testing.T) {
	nodes, replicas := world(t, `
		node a zone=a vg=60/100 vg2=20/100
		node b zone=b vg=70/100 vg2=!90/100
		node c zone=b vg=?
		node d zone=b vg=5/100
		replica 0 D`)
	in := scheduling.Input{
		Candidates: scheduling.Prepare(nodes), Replicas: replicas, Layout: layout.Formula(0, 1), Topology: layout.Zonal,
		VolumeAccess: scheduling.AccessLocal, AttachTo: []string{"b"}, Size: 10, Explain: 5,
	}
	place := func(node, lvg string) scheduling.Place { return scheduling.Place{Node: node, LVG: lvg} }
	want := &scheduling.Diagnosis{
		Candidates: 6, Nodes: 4, PerLVG: true, Omitted: 1,
		Excluded: []scheduling.Exclusion{
			{Rule: "LVG not ready", Count: 1}, {Rule: "scoring (no capacity)", Count: 1}, {Rule: "scoring (capacity unknown)", Count: 1},
		},
		Alternatives: []scheduling.Alternative{
			{
				Place: place("b", "vg"), Zone: "b", Chosen: true, Score: 206, Capacity: "known", Available: 70,
				Parts: []scheduling.Part{{Rule: "capacity", Points: 6}, {Rule: "attach-to bonus", Points: 1000}, {Rule: "zone capacity penalty", Points: -800}},
			},
			{
				Place: place("a", "vg"), Zone: "a", Score: -792, Capacity: "known", Available: 60,
				Parts: []scheduling.Part{{Rule: "capacity", Points: 6}, {Rule: "multi-LVG node bonus", Points: 2}, {Rule: "zone capacity penalty", Points: -800}},
			},
			{
				Place: place("a", "vg2"), Zone: "a", Score: -795, Capacity: "known", Available: 20,
				Parts: []scheduling.Part{{Rule: "capacity", Points: 3}, {Rule: "multi-LVG node bonus", Points: 2}, {Rule: "zone capacity penalty", Points: -800}},
			},
			{Place: place("b", "vg2"), Zone: "b", ExcludedBy: "LVG not ready", Capacity: "known", Available: 90},
			{Place: place("c", "vg"), Zone: "b", ExcludedBy: "scoring (capacity unknown)", Capacity: "unknown"},
		},
	}
	if diff := cmp.Diff(want, scheduling.Run(in).Replicas[0].Diagnosis); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
