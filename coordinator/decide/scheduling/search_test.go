package scheduling_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// Each case is one way in which the rules leave a replica out though the layout fits, or rightly do.
func TestSearch(t *testing.T) {
	for _, tc := range []struct {
		name  string
		in    scheduling.Input
		world string
		want  string
	}{
		{
			name: "a zone without disks is the least loaded",
			in:   scheduling.Input{Layout: layout.Formula(2, 1), Topology: layout.TransZonal},
			world: `node a1 zone=a vg=9
				node a2 zone=a vg=9
				node b1 zone=b vg=5
				node c1 zone=c vg=1
				node d1 zone=d
				replica 0 D
				replica 1 D
				replica 2 D
				replica 3 D
				replica 4 TB`,
			want: `0 a1/vg
				1 a2/vg
				2 b1/vg
				3 c1/vg
				4 d1
				search found true`,
		},
		{
			name: "the least loaded zone has no usable node",
			in:   scheduling.Input{Layout: layout.Formula(2, 2), Topology: layout.TransZonal},
			world: `node a1 zone=a vg=5
				node a2 zone=a vg=5
				node b1 zone=b vg=5
				node b2 zone=b vg=5
				node c1 zone=c vg=5
				node d1 zone=d vg=5 down
				replica 0 D
				replica 1 D
				replica 2 D
				replica 3 D
				replica 4 D`,
			want: `0 a1/vg
				1 a2/vg
				2 b1/vg
				3 b2/vg
				4 c1/vg
				search found true`,
		},
		{
			name: "the least loaded zone has no room",
			in:   scheduling.Input{Layout: layout.Formula(2, 2), Topology: layout.TransZonal, Size: 50},
			world: `node a1 zone=a vg=90/100
				node a2 zone=a vg=90/100
				node b1 zone=b vg=90/100
				node b2 zone=b vg=95/100
				node c1 zone=c vg=90/100
				node d1 zone=d vg=40/100
				replica 0 D at a1/vg
				replica 1 D at b1/vg
				replica 2 D at c1/vg
				replica 3 D
				replica 4 D`,
			want: `0 a1/vg
				1 b1/vg
				2 c1/vg
				3 a2/vg
				4 b2/vg
				search found true`,
		},
		{
			name: "a half-placed replica is in the way of itself",
			in:   scheduling.Input{Layout: layout.Formula(1, 1), Topology: layout.TransZonal},
			world: `node a1 zone=a vg=5
				node b1 zone=b vg=5
				node c1 zone=c vg=5
				replica 0 D at c1
				replica 1 D
				replica 2 D`,
			want: `0 c1/vg
				1 a1/vg
				2 b1/vg
				search found true`,
		},
		{
			name: "an attach bonus chose a zone that cannot hold the rest",
			in:   scheduling.Input{Layout: layout.Formula(1, 1), Topology: layout.Zonal, AttachTo: []string{"a1"}},
			world: `node a1 zone=a vg=9
				node b1 zone=b vg=5
				node b2 zone=b vg=6
				node b3 zone=b vg=7
				replica 0 D
				replica 1 D
				replica 2 D`,
			want: `0 b3/vg
				1 b2/vg
				2 b1/vg
				search found true`,
		},
		{
			name: "a greedy choice took a zone that has no node for the tie-breaker",
			in:   scheduling.Input{Layout: layout.Formula(1, 0), Topology: layout.Zonal},
			world: `node a1 zone=a vg=9
				node a2 zone=a vg=9
				node b1 zone=b vg=1
				node b2 zone=b vg=1
				node b3 zone=b
				replica 0 D
				replica 1 D
				replica 2 TB`,
			want: `0 b1/vg
				1 b2/vg
				2 b3
				search found true`,
		},
		{
			name: "the promise is kept: a zone whose loss would take too much is no place",
			in:   scheduling.Input{Layout: layout.Formula(1, 1), Topology: layout.TransZonal},
			world: `node a1 zone=a vg=5
				node a2 zone=a vg=5
				node b1 zone=b vg=5
				node c1 zone=c vg=5 down
				replica 0 D
				replica 1 D
				replica 2 D`,
			want: `0 a1/vg
				1 b1/vg
				2 - False SchedulingFailed: 4 candidates (node×LVG) from 4 eligible nodes; 1 excluded: node not ready; ` +
				`2 excluded: node occupied; 1 excluded: zone (transZonal min replicas)
				search found false`,
		},
		{
			name: "what was placed before is never moved, though that would help",
			in:   scheduling.Input{Layout: layout.Formula(0, 1), Topology: layout.Zonal},
			world: `node a1 zone=a vg=5
				node b1 zone=b vg=5
				node b2 zone=b vg=5
				replica 0 D at a1/vg
				replica 1 D`,
			want: `0 a1/vg
				1 - False SchedulingFailed: 3 candidates (node×LVG) from 3 eligible nodes; 1 excluded: node occupied; 2 excluded: zone (zonal majority)
				search found false`,
		},
		{
			name: "a deleting replica no longer ties the volume to its zone",
			in:   scheduling.Input{Layout: layout.Formula(0, 0), Topology: layout.Zonal},
			world: `node a1 zone=a vg=5
				node b1 zone=b vg=5
				replica 0 D at a1/vg deleting
				replica 1 D`,
			want: `0 a1/vg
				1 b1/vg
				search found true`,
		},
		{
			name: "DRBD 8.4: the coordinators vote, so any two zones will do",
			in:   scheduling.Input{Layout: drbd84(t, 1, 0), Topology: layout.TransZonal},
			world: `node a1 zone=a vg=5
				node b1 zone=b vg=5
				node c1 zone=c vg=5 down
				replica 0 D at a1
				replica 1 D`,
			want: `0 a1/vg
				1 b1/vg
				search found true`,
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

func TestTheDiagnosisSaysWhenAndWhyTheSearchWasUsed(t *testing.T) {
	nodes, replicas := world(t, `
		node a1 zone=a vg=9
		node b1 zone=b vg=5
		node b2 zone=b vg=6
		replica 0 D
		replica 1 D`)
	in := scheduling.Input{
		Candidates: scheduling.Prepare(nodes), Replicas: replicas, Layout: layout.Formula(0, 1), Topology: layout.Zonal,
		AttachTo: []string{"a1"}, Explain: 10,
	}
	got := scheduling.Run(in)
	want := &scheduling.Search{
		Found: true,
		Why: "replica 1 (Diskful): 3 candidates (node×LVG) from 3 eligible nodes; 1 excluded: node occupied; " +
			"2 excluded: zone (zonal majority)",
		Says: "placement of the whole layout: replica 0 on b2/vg, replica 1 on b1/vg",
	}
	if diff := cmp.Diff(want, got.Search); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, in.Explain = range []int{10, 1} {
		for _, p := range scheduling.Run(in).Replicas {
			if a := p.Diagnosis.Alternatives[0]; !p.Diagnosis.BySearch || !a.Chosen || a.Place != p.Place || len(p.Diagnosis.Alternatives)+p.Diagnosis.Omitted != 3 {
				t.Errorf("replica %d: the diagnosis does not tell of the search: %+v", p.ID, p.Diagnosis)
			}
		}
	}
}

func TestASearchInVainSaysWhatIsMissing(t *testing.T) {
	const zones = `: zone "a" has 2 free nodes, 1 with room, and holds 0 Diskful; zone "b" has 1 free nodes, 1 with room, and holds 0 Diskful`
	for topology, want := range map[layout.Topology]string{
		layout.Ignored:    "2 more Diskful and 2 more TieBreakers do not fit" + zones,
		layout.Zonal:      "2 more Diskful and 2 more TieBreakers do not fit in any one zone" + zones,
		layout.TransZonal: "2 more Diskful and 2 more TieBreakers do not fit so that the loss of any one zone is survived" + zones,
	} {
		nodes, replicas := world(t, `
			node a1 zone=a vg=9
			node a2 zone=a
			node b1 zone=b vg=5
			replica 0 D
			replica 1 D
			replica 2 TB
			replica 3 TB`)
		in := scheduling.Input{
			Candidates: scheduling.Prepare(nodes), Replicas: replicas, Layout: layout.Formula(1, 0), Topology: topology,
		}
		got := scheduling.Run(in).Search
		if diff := cmp.Diff("no placement of the whole layout: "+want, got.Says); diff != "" {
			t.Errorf("%s (-want +got)\n%s", topology, diff)
		}
	}
}

func TestAReplicaStuckOnItsNodeIsNamed(t *testing.T) {
	nodes, replicas := world(t, "node a vg=!1\nnode b vg=1\nreplica 3 D at a")
	got := scheduling.Run(scheduling.Input{Candidates: scheduling.Prepare(nodes), Replicas: replicas, Layout: layout.Formula(0, 0)}).Search
	want := "no placement of the whole layout: replica 3 has node a, and there: 2 candidates (node×LVG) from 2 eligible nodes; " +
		"1 excluded: LVG not ready; 1 excluded: node mismatch (assigned)"
	if diff := cmp.Diff(want, got.Says); diff != "" {
		t.Error(diff)
	}
}

func TestTheSearchAmongThousandsOfZonesFindsThePlace(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "node n%04d zone=down%04d vg=5 down\n", i, i)
	}
	for _, zone := range []string{"x", "y", "z"} {
		fmt.Fprintf(&text, "node %s1 zone=%s vg=5\nnode %s2 zone=%s vg=5\n", zone, zone, zone, zone)
	}
	text.WriteString("replica 0 D\nreplica 1 D\nreplica 2 D\nreplica 3 D\nreplica 4 TB")
	nodes, replicas := world(t, text.String())
	in := scheduling.Input{
		Candidates: scheduling.Prepare(nodes), Replicas: replicas, Layout: layout.Formula(2, 1), Topology: layout.TransZonal,
	}
	want := unindent("0 x1/vg\n1 y1/vg\n2 y2/vg\n3 z1/vg\n4 x2\nsearch found true")
	if diff := cmp.Diff(want, outcome(scheduling.Run(in))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func drbd84(t *testing.T, ftt, gmdr int) layout.Layout {
	t.Helper()
	l, err := layout.NewDRBD84(ftt, gmdr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
