package storageclass_test

import (
	"fmt"
	"maps"
	"testing"

	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
)

// For every layout and topology: the least that holds it, and the same with one node less somewhere, which does not.
func TestEveryLayoutAndTopology(t *testing.T) {
	t.Parallel()
	zones := func(counts ...int) map[string]int {
		out := map[string]int{}
		for i, n := range counts {
			out[fmt.Sprintf("z%d", i+1)] = n
		}
		return out
	}
	for _, tc := range []struct {
		ftt, gmdr int
		topology  model.Topology
		least     map[string]int // nodes with storage by zone
		layout    string
	}{
		{0, 0, "Ignored", zones(1), "1D"},
		{0, 1, "Ignored", zones(1, 1), "2D"},
		{1, 0, "Ignored", zones(2, 1), "2D+1TB"},
		{1, 1, "Ignored", zones(3), "3D"},
		{1, 2, "Ignored", zones(1, 3), "4D"},
		{2, 1, "Ignored", zones(5), "4D+1TB"},
		{2, 2, "Ignored", zones(2, 2, 1), "5D"},

		{0, 0, "Zonal", zones(1, 1), "1D"},
		{0, 1, "Zonal", zones(2, 2), "2D"},
		{1, 0, "Zonal", zones(3, 3), "2D+1TB"},
		{1, 1, "Zonal", zones(3, 3), "3D"},
		{1, 2, "Zonal", zones(4), "4D"},
		{2, 1, "Zonal", zones(5, 5), "4D+1TB"},
		{2, 2, "Zonal", zones(5), "5D"},

		{0, 1, "TransZonal", zones(1, 1), "2D"},
		{1, 0, "TransZonal", zones(1, 1, 1), "2D+1TB"},
		{1, 1, "TransZonal", zones(1, 1, 1), "3D"},
		{1, 2, "TransZonal", zones(1, 1, 1, 1), "4D"},
		{2, 1, "TransZonal", zones(2, 2, 1), "4D+1TB"},
		{2, 2, "TransZonal", zones(2, 2, 1), "5D"},
	} {
		t.Run(fmt.Sprintf("%s %d/%d", tc.topology, tc.ftt, tc.gmdr), func(t *testing.T) {
			t.Parallel()
			c := class(tc.ftt, tc.gmdr, tc.topology)
			if v := storageclass.Fits(c, spread("9", tc.least)); !v.Valid {
				t.Errorf("%v do not hold it: %s", tc.least, v.Message)
			}
			l, err := storageclass.Layout(c, spread("9", tc.least))
			if err != nil || l.Short() != tc.layout {
				t.Errorf("layout %s, %v, want %s", l.Short(), err, tc.layout)
			}
			for zone, n := range tc.least {
				fewer := maps.Clone(tc.least)
				if fewer[zone]--; tc.topology == "Zonal" && n == 1 {
					continue // the zone is gone, and with it what it lacked
				}
				if v := storageclass.Fits(c, spread("9", fewer)); v.Valid || v.Reason != "InsufficientEligibleNodes" {
					t.Errorf("%v hold it: %+v", fewer, v)
				}
			}
		})
	}
	if v := storageclass.Fits(class(0, 0, "TransZonal"), spread("9", zones(9, 9))); v.Valid || v.Reason != "InvalidConfiguration" {
		t.Errorf("a single copy over zones: %+v", v)
	}
}

func TestTheMajorOfNewVolumes(t *testing.T) {
	t.Parallel()
	mixed := func(nines, fours int) []model.EligibleNode {
		return append(spread("9", map[string]int{"z1": nines}), spread("8.4", map[string]int{"z2": fours})...)
	}
	for _, tc := range []struct {
		name  string
		nodes []model.EligibleNode
		want  string
		short string
	}{
		{"9 everywhere", mixed(3, 0), "9", "2D+1TB"},
		{"8.4 everywhere", mixed(0, 3), "8.4", "2D+arbiter"},
		{"9 on enough", mixed(2, 5), "9", "2D+1TB"},
		{"9 on too few", mixed(1, 2), "8.4", "2D+arbiter"},
		{"nothing known", nil, "9", "2D+1TB"},
		{"9 on nodes without storage", append(nodes("9", [3]string{"a"}, [3]string{"b"}), mixed(0, 2)...), "8.4", "2D+arbiter"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := storageclass.DRBD(1, 0, tc.nodes); got != tc.want {
				t.Errorf("DRBD %s, want %s", got, tc.want)
			}
			if l, err := storageclass.Layout(class(1, 0, "Ignored"), tc.nodes); err != nil || l.Short() != tc.short {
				t.Errorf("layout %s, %v, want %s", l.Short(), err, tc.short)
			}
		})
	}
}
