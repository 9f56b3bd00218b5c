package eligibility_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/decide/eligibility"
	"rvol/coordinator/model/selector"
)

func ready(name string, change func(*eligibility.Node)) eligibility.Node {
	n := eligibility.Node{
		Name: name, Zone: "z1", Labels: map[string]string{"tier": "fast"}, Networks: []string{"storage"},
		Readiness: eligibility.Ready, AgentReady: true, DRBD: "9",
		LVGs: []eligibility.LVG{{VG: "vg0", ID: name + "-uuid", Ready: true}},
	}
	if change != nil {
		change(&n)
	}
	return n
}

func entry(name string, change func(*eligibility.EligibleNode)) eligibility.EligibleNode {
	e := eligibility.EligibleNode{
		Node: name, Zone: "z1", NodeReady: true, AgentReady: true, DRBD: "9",
		LVGs: []eligibility.EligibleLVG{{VG: "vg0", ID: name + "-uuid", Ready: true}},
	}
	if change != nil {
		change(&e)
	}
	return e
}

func TestEligibleNodes(t *testing.T) {
	fast, err := selector.Parse("tier=fast")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		pool eligibility.Pool
		node eligibility.Node
		want []eligibility.EligibleNode // nil: not in the list
		why  string
	}{
		{name: "a node that has it all", node: ready("a", nil), want: []eligibility.EligibleNode{entry("a", nil)}},
		{
			name: "another zone", pool: eligibility.Pool{Zones: []string{"z2", "z3"}}, node: ready("a", nil),
			why: `zone "z1" is not one of z2, z3`,
		},
		{
			name: "other labels", pool: eligibility.Pool{Nodes: fast},
			node: ready("a", func(n *eligibility.Node) { n.Labels = nil }), why: "labels do not match tier=fast",
		},
		{
			name: "no address on a network", pool: eligibility.Pool{Networks: []string{"storage", "backup"}}, node: ready("a", nil),
			why: `no address on network "backup"`,
		},
		{
			name: "NotReady within its grace",
			node: ready("a", func(n *eligibility.Node) { n.Readiness, n.NotReadyFor = eligibility.NotReady, 9*time.Minute }),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) { e.NodeReady = false })},
		},
		{
			name: "NotReady for exactly its grace",
			node: ready("a", func(n *eligibility.Node) { n.Readiness, n.NotReadyFor = eligibility.NotReady, 10*time.Minute }),
			why:  "NotReady for 10m0s, grace is 10m0s",
		},
		{
			name: "nothing known of it",
			node: ready("a", func(n *eligibility.Node) { n.Readiness, n.NotReadyFor = eligibility.Unknown, time.Hour }),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) { e.NodeReady = false })},
		},
		{
			name: "cordoned, its agent down, without DRBD",
			node: ready("a", func(n *eligibility.Node) { n.Unschedulable, n.AgentReady, n.DRBD = true, false, "" }),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) {
				e.Unschedulable, e.AgentReady, e.DRBD = true, false, ""
			})},
		},
		{
			name: "without an LVG, for tie-breakers and access",
			node: ready("a", func(n *eligibility.Node) { n.LVGs = nil }),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) { e.LVGs = nil })},
		},
		{
			name: "an LVG by its labels", pool: eligibility.Pool{Selector: fast},
			node: ready("a", func(n *eligibility.Node) {
				n.LVGs = append(n.LVGs, eligibility.LVG{VG: "ssd", ID: "ssd-uuid", Labels: map[string]string{"tier": "fast"}, Unschedulable: true})
			}),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) {
				e.LVGs = []eligibility.EligibleLVG{{VG: "ssd", ID: "ssd-uuid", Unschedulable: true}}
			})},
		},
		{
			name: "an LVG that offers its thin pools only",
			node: ready("a", func(n *eligibility.Node) { n.LVGs[0].ThickOff = true }),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) { e.LVGs = nil })},
		},
		{
			name: "a thin pool that is not ready", pool: eligibility.Pool{ThinPool: "tp"},
			node: ready("a", func(n *eligibility.Node) {
				n.LVGs[0].ThinPools = []eligibility.ThinPool{{Name: "other", ID: "x", Ready: true}, {Name: "tp", ID: "tp-uuid"}}
			}),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) {
				e.LVGs = []eligibility.EligibleLVG{{VG: "vg0", ThinPool: "tp", ID: "tp-uuid"}}
			})},
		},
		{
			name: "a thin pool that is not offered", pool: eligibility.Pool{ThinPool: "tp"}, node: ready("a", nil),
			want: []eligibility.EligibleNode{entry("a", func(e *eligibility.EligibleNode) { e.LVGs = nil })},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.pool.Grace = eligibility.DefaultGrace
			got := eligibility.Eligible(tc.pool, []eligibility.Node{tc.node}, nil, 0)
			if diff := cmp.Diff(tc.want, got.Nodes); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var excluded []eligibility.Exclusion
			if tc.why != "" {
				excluded = []eligibility.Exclusion{{Node: "a", Why: tc.why}}
			}
			if diff := cmp.Diff(excluded, got.Excluded); diff != "" {
				t.Errorf("excluded (-want +got)\n%s", diff)
			}
			if !got.Ready || got.Reason != eligibility.PoolReady {
				t.Errorf("not ready: %s", got.Message)
			}
		})
	}
}

func TestAnInvalidPoolKeepsItsList(t *testing.T) {
	standing := []eligibility.EligibleNode{entry("old", nil)}
	for _, tc := range []struct {
		name            string
		pool            eligibility.Pool
		reason, message string
	}{
		{
			"a volume group that nobody offers",
			eligibility.Pool{VGs: []string{"vg0", "vg1", "vg2"}},
			eligibility.PoolLVMVolumeGroupNotFound, "no node offers a volume group named vg1, vg2",
		},
		{
			"a thin pool that nobody offers",
			eligibility.Pool{VGs: []string{"vg0"}, ThinPool: "tp"},
			eligibility.PoolInvalidLVMVolumeGroup, `volume group vg0 is offered, but on no node with thin pool "tp"`,
		},
		{
			"a volume group that is offered for thin volumes only",
			eligibility.Pool{VGs: []string{"vg7"}},
			eligibility.PoolInvalidLVMVolumeGroup, "volume group vg7 is offered, but on no node with thick volumes",
		},
		{
			"a selector that cannot be",
			eligibility.Pool{Nodes: selector.Selector{{Key: "a", Operator: selector.In}}},
			eligibility.PoolInvalidLabelSelector, `label "a": In needs at least one value`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := ready("b", nil)
			b.LVGs = []eligibility.LVG{{VG: "vg7", ThickOff: true}}
			got := eligibility.Eligible(tc.pool, []eligibility.Node{ready("a", nil), b}, standing, 7)
			want := eligibility.Outcome{Nodes: standing, Revision: 7, Reason: tc.reason, Message: tc.message}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTheFirstGraceToEndIsTold(t *testing.T) {
	down := func(d time.Duration) func(*eligibility.Node) {
		return func(n *eligibility.Node) { n.Readiness, n.NotReadyFor = eligibility.NotReady, d }
	}
	pool := eligibility.Pool{Grace: 10 * time.Minute}
	nodes := []eligibility.Node{ready("a", down(time.Minute)), ready("b", down(4*time.Minute)), ready("c", down(time.Hour)), ready("d", nil)}
	if got := eligibility.Eligible(pool, nodes, nil, 0).NextExpiry; got != 6*time.Minute {
		t.Errorf("%s, want 6m", got)
	}
	if got := eligibility.Eligible(pool, nodes[3:], nil, 0).NextExpiry; got != 0 {
		t.Errorf("%s though nobody is NotReady", got)
	}
}

// Whatever happens to the nodes, the revision grows by one when the list is another, and else stays.
func TestTheRevisionIsBumpedExactlyWhenTheListChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := eligibility.Pool{VGs: []string{"vg0"}, Zones: []string{"z1"}, Grace: time.Minute}
		var standing []eligibility.EligibleNode
		revision, bumps := int64(0), int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			var nodes []eligibility.Node
			for _, name := range rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "order") {
				nodes = append(nodes, ready(name, func(n *eligibility.Node) {
					n.Readiness = rapid.SampledFrom([]eligibility.Readiness{eligibility.Ready, eligibility.NotReady, eligibility.Unknown}).Draw(t, "readiness")
					n.NotReadyFor = time.Duration(rapid.IntRange(0, 120).Draw(t, "for")) * time.Second
					n.Zone = rapid.SampledFrom([]string{"z1", "z1", "z2"}).Draw(t, "zone")
					n.LVGs[0].Ready = rapid.Bool().Draw(t, "lvg")
					n.LVGs[0].VG = rapid.SampledFrom([]string{"vg0", "vg0", "vg1"}).Draw(t, "vg")
				}))
			}
			got := eligibility.Eligible(pool, nodes, standing, revision)
			changed := !cmp.Equal(got.Nodes, standing)
			if changed != got.Changed || changed != (got.Revision == revision+1) || !changed && got.Revision != revision {
				t.Fatalf("changed %v, said %v, revision %d after %d", changed, got.Changed, got.Revision, revision)
			}
			if changed {
				bumps++
			}
			standing, revision = got.Nodes, got.Revision
		}
		if revision != bumps {
			t.Errorf("revision %d after %d changes", revision, bumps)
		}
	})
}
