package layout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
)

// A row is a line of the recorded tables.
type row struct {
	Kind                    string
	FTT, GMDR               int
	Legal                   bool
	Diskful, TieBreakers    int
	Quorum                  int
	QuorumMinimumRedundancy int `json:"quorum_minimum_redundancy"`
	Total, Voters           int
}

func TestEveryRecordedLayoutIsComputed(t *testing.T) {
	table, err := os.ReadFile("testdata/layouts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range bytes.Lines(table) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		rows++
		l := layout.Formula(r.FTT, r.GMDR)
		if r.Kind == "formation_quorum" {
			if got := l.FormationQuorum(r.Voters); got != r.Quorum || l.QuorumMinimumRedundancy != r.QuorumMinimumRedundancy {
				t.Errorf("%d/%d with %d voters: quorum %d, want %d", r.FTT, r.GMDR, r.Voters, got, r.Quorum)
			}
			continue
		}
		want := layout.Layout{
			FTT: r.FTT, GMDR: r.GMDR, Diskful: r.Diskful, TieBreakers: r.TieBreakers,
			Quorum: r.Quorum, QuorumMinimumRedundancy: r.QuorumMinimumRedundancy,
		}
		if diff := cmp.Diff(want, l); diff != "" || l.Replicas() != r.Total {
			t.Errorf("%d/%d (-want +got)\n%s", r.FTT, r.GMDR, diff)
		}
		if _, err := layout.New(r.FTT, r.GMDR); (err == nil) != r.Legal {
			t.Errorf("%d/%d is legal: %v, but: %v", r.FTT, r.GMDR, r.Legal, err)
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows", rows)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		reason layout.Reason
		says   string
	}{
		{"FTT below its range", layout.Check(-1, 0), layout.ReasonOutOfRange, "FTT is -1, must be 0 to 2"},
		{"FTT above its range", layout.Check(3, 2), layout.ReasonOutOfRange, "FTT is 3, must be 0 to 2"},
		{"GMDR above its range", layout.Check(2, 3), layout.ReasonOutOfRange, "GMDR is 3, must be 0 to 2"},
		{"FTT without GMDR", layout.Check(2, 0), layout.ReasonTooFarApart, "FTT=2, GMDR=0: the two may differ by at most 1"},
		{"GMDR without FTT", layout.Check(0, 2), layout.ReasonTooFarApart, "FTT=0, GMDR=2: the two may differ by at most 1"},
		{
			"one copy over zones", layout.CheckTopology(0, 0, layout.TransZonal), layout.ReasonUnsupportedByTopology,
			"FTT=0, GMDR=0 is a single copy, TransZonal needs copies in at least 2 zones: use Ignored, or raise GMDR to 1",
		},
		{"out of range over zones", layout.CheckTopology(9, 9, layout.TransZonal), layout.ReasonOutOfRange, "FTT is 9, must be 0 to 2"},
		{
			"three copies on DRBD 8.4", second(layout.NewDRBD84(1, 1)), layout.ReasonUnsupportedByDRBD84,
			"FTT=1, GMDR=1 needs 3 Diskful replicas, DRBD 8.4 connects 2: use 0/0, 1/0 or 0/1, or install DRBD 9 on the nodes",
		},
		{"an illegal layout on DRBD 8.4", second(layout.NewDRBD84(2, 0)), layout.ReasonTooFarApart, "FTT=2, GMDR=0: the two may differ by at most 1"},
		{
			"an unknown topology", second(layout.ParseTopology("zonal")), layout.ReasonUnknownTopology,
			`topology "zonal" is unknown: use Ignored, Zonal or TransZonal`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var refused *layout.RefusedError
			if !errors.As(tc.err, &refused) {
				t.Fatalf("not refused: %v", tc.err)
			}
			if refused.Reason != tc.reason || refused.Error() != tc.says {
				t.Errorf("%s: %s\nwant %s: %s", refused.Reason, refused.Error(), tc.reason, tc.says)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestDRBD84CarriesThreeLayouts(t *testing.T) {
	got := map[string]string{}
	for ftt := range 3 {
		for gmdr := range 3 {
			if l, err := layout.NewDRBD84(ftt, gmdr); err == nil {
				got[fmt.Sprintf("%d/%d", ftt, gmdr)] = l.Short()
			}
		}
	}
	want := map[string]string{"0/0": "1D", "1/0": "2D+arbiter", "0/1": "2D"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheOlderNamesStandForTheirNumbers(t *testing.T) {
	for name, want := range map[layout.Replication][2]int{
		layout.None: {0, 0}, layout.Availability: {1, 0}, layout.Consistency: {0, 1}, layout.ConsistencyAndAvailability: {1, 1},
	} {
		ftt, gmdr, err := name.FailureNumbers()
		if err != nil || [2]int{ftt, gmdr} != want {
			t.Errorf("%s: %d/%d, %v", name, ftt, gmdr, err)
		}
		if back := layout.ReplicationOf(ftt, gmdr); back != name {
			t.Errorf("%d/%d is %q, want %q", ftt, gmdr, back, name)
		}
	}
	if name := layout.ReplicationOf(2, 2); name != "" {
		t.Errorf("2/2 has the older name %q", name)
	}
	if _, _, err := layout.Replication("none").FailureNumbers(); err == nil {
		t.Error("a name in the wrong case is accepted")
	}
}

func TestALayoutIsExplainedInWords(t *testing.T) {
	for _, tc := range []struct {
		ftt, gmdr int
		topology  layout.Topology
		want      string
	}{
		{
			0, 0, layout.Ignored, "1 copy on 1 node, in any zones. The volume stops when its node fails. " +
				"There is one copy: the loss of its disk is the loss of the data.",
		},
		{
			1, 0, layout.TransZonal, "2 copies on 2 nodes and a tie-breaker without data on one more, spread over 3 zones or more. " +
				"Any 1 node may fail, or any 1 zone, and the volume stays usable. " +
				"The volume may go on with a single copy: what is written then is lost with it.",
		},
		{
			0, 1, layout.TransZonal, "2 copies on 2 nodes, spread over 2 zones or more. " +
				"The volume stops when any one of its nodes fails, and goes on when that node is back. " +
				"A write is confirmed only while at least 2 copies are up to date, so any 1 copy may be lost, or any 1 zone, without losing data.",
		},
		{
			2, 2, layout.Zonal, "5 copies on 5 nodes, all in one zone. Any 2 nodes may fail and the volume stays usable. " +
				"A write is confirmed only while at least 3 copies are up to date, so any 2 copies may be lost without losing data.",
		},
	} {
		got := layout.Formula(tc.ftt, tc.gmdr).Explain(tc.topology).String()
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%d/%d %s (-want +got)\n%s", tc.ftt, tc.gmdr, tc.topology, diff)
		}
	}
	arbiter, err := layout.NewDRBD84(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := "2 copies on 2 nodes; the coordinators take the tie-breaker's place, spread over 2 zones or more."
	if diff := cmp.Diff(want, arbiter.Explain(layout.TransZonal).Copies); diff != "" {
		t.Error(diff)
	}
}

// The bounds per zone are checked against the loss itself: every way to spread a layout over up to five zones.
func TestAZoneMayHoldWhatItsLossLeavesEnoughOf(t *testing.T) {
	for ftt := range 3 {
		for gmdr := range 3 {
			l, err := layout.New(ftt, gmdr)
			if err != nil || ftt+gmdr == 0 {
				continue
			}
			least := 0
			for inZone := range l.Diskful + 1 {
				for lost := range 2 {
					if lost > l.TieBreakers {
						continue
					}
					want := survives(l, inZone, lost)
					if got := inZone <= l.MostPerZone(lost > 0); got != want {
						t.Errorf("%s: a zone with %d Diskful and %d tie-breakers may be lost: %v, want %v", l.Short(), inZone, lost, got, want)
					}
				}
			}
			for zones := 1; least == 0; zones++ {
				if spreads(l, zones, l.Diskful, l.TieBreakers) {
					least = zones
				}
			}
			if got := l.LeastZones(); got != least {
				t.Errorf("%s: at least %d zones, want %d", l.Short(), got, least)
			}
		}
	}
}

func survives(l layout.Layout, lostDiskful, lostTieBreakers int) bool {
	left := l.Diskful - lostDiskful
	if l.FTT == 0 {
		return left >= 1
	}
	return left > l.GMDR && left+l.TieBreakers-lostTieBreakers >= l.Quorum
}

func spreads(l layout.Layout, zones, diskful, tieBreakers int) bool {
	if zones == 0 {
		return diskful == 0 && tieBreakers == 0
	}
	for d := range diskful + 1 {
		for tb := range tieBreakers + 1 {
			if survives(l, d, tb) && spreads(l, zones-1, diskful-d, tieBreakers-tb) {
				return true
			}
		}
	}
	return false
}
