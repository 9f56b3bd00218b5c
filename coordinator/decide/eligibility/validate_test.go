package eligibility_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rvol/coordinator/decide/eligibility"
	"rvol/coordinator/decide/layout"
)

// The verdict on TransZonal is checked against all placements on the nodes themselves.
func TestTransZonalIsValidExactlyWhenASafePlacementExists(t *testing.T) {
	type seen struct{ valid, invalid int }
	var s seen
	for range 20 {
		rapid.Check(t, func(t *rapid.T) {
			ftt := rapid.IntRange(0, 2).Draw(t, "ftt")
			gmdr := rapid.IntRange(max(0, ftt-1), min(2, ftt+1)).Draw(t, "gmdr")
			l := layout.Formula(ftt, gmdr)
			var nodes []eligibility.ClassNode
			for i := range rapid.SampledFrom([]int{6, 5, 4, 7, 3, 8, 2, 1}).Draw(t, "nodes") {
				nodes = append(nodes, eligibility.ClassNode{
					Name:  fmt.Sprint(i),
					Zone:  rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "zone"),
					Disks: rapid.SampledFrom([]int{1, 1, 2, 0}).Draw(t, "disks"),
				})
			}
			got := eligibility.Validate(layout.TransZonal, l, nodes)
			want := ftt+gmdr > 0 && safePlacement(l, nodes, map[string]int{}, l.Diskful)
			if got.Valid != want {
				t.Errorf("%s on %v: valid %v, want %v: %s", l.Short(), nodes, got.Valid, want, got.Message)
			}
			if got.Valid {
				s.valid++
			} else {
				s.invalid++
			}
		})
	}
	if s.valid < 100 || s.invalid < 100 {
		t.Errorf("the drawn nodes are one-sided: %+v", s)
	}
}

// safePlacement tries every set of disk nodes, then every other node for the tie-breaker.
func safePlacement(l layout.Layout, rest []eligibility.ClassNode, diskful map[string]int, left int) bool {
	return place(l, rest, nil, diskful, left)
}

func place(l layout.Layout, rest, skipped []eligibility.ClassNode, diskful map[string]int, left int) bool {
	if left == 0 {
		free := append(append([]eligibility.ClassNode(nil), skipped...), rest...)
		if l.TieBreakers == 0 {
			return survivesEveryZone(l, diskful, "no zone at all")
		}
		for _, n := range free {
			if survivesEveryZone(l, diskful, n.Zone) {
				return true
			}
		}
		return false
	}
	if len(rest) == 0 {
		return false
	}
	n := rest[0]
	if n.Disks > 0 {
		diskful[n.Zone]++
		found := place(l, rest[1:], skipped, diskful, left-1)
		if diskful[n.Zone]--; diskful[n.Zone] == 0 {
			delete(diskful, n.Zone)
		}
		if found {
			return true
		}
	}
	return place(l, rest[1:], append(slices.Clip(skipped), n), diskful, left)
}

func survivesEveryZone(l layout.Layout, diskful map[string]int, tieBreaker string) bool {
	zones := map[string]bool{tieBreaker: true}
	for z := range diskful {
		zones[z] = true
	}
	for z := range zones {
		left := l.Diskful - diskful[z]
		votes := left
		if l.TieBreakers > 0 && z != tieBreaker {
			votes++
		}
		if l.FTT == 0 && left < 1 || l.FTT > 0 && (left < l.GMDR+1 || votes < l.Quorum) {
			return false
		}
	}
	return true
}

func TestAValidClassSaysWhatItRestsOn(t *testing.T) {
	nodes := []eligibility.ClassNode{{Name: "a", Zone: "x", Disks: 1}, {Name: "b", Zone: "y", Disks: 1}, {Name: "c", Zone: "z"}}
	for topology, want := range map[layout.Topology]string{
		layout.Ignored:    "FTT=1, GMDR=0 (2D+1TB): requires 3 nodes, 2 of them with disks, have 3 nodes, 2 with disks",
		layout.TransZonal: "FTT=1, GMDR=0 (2D+1TB): a placement exists that survives the loss of any one of 3 zones",
	} {
		if got := eligibility.Validate(topology, layout.Formula(1, 0), nodes); !got.Valid || got.Message != want || got.Reason != "" {
			t.Errorf("%s: %+v", topology, got)
		}
	}
}

func TestClassesOnDRBD84NeedNoNodeForTheArbiter(t *testing.T) {
	l, err := layout.NewDRBD84(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []eligibility.ClassNode{{Name: "a", Zone: "x", Disks: 1}, {Name: "b", Zone: "y", Disks: 1}}
	for _, topology := range []layout.Topology{layout.Ignored, layout.TransZonal} {
		if got := eligibility.Validate(topology, l, nodes); !got.Valid {
			t.Errorf("%s: %s", topology, got.Message)
		}
	}
	if got := eligibility.Validate(layout.TransZonal, l, nodes[:1]); got.Valid || !strings.Contains(got.Message, "requires at least 2 zones, have 1 (1 missing)") {
		t.Errorf("one node in one zone: %+v", got)
	}
}
