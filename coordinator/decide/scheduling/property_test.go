package scheduling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/decide/scheduling"
)

// everyCluster checks some thousands of drawn clusters.
func everyCluster(t *testing.T, check func(*rapid.T, cluster)) {
	t.Helper()
	for range 30 {
		rapid.Check(t, func(t *rapid.T) { check(t, drawCluster(t)) })
	}
}

func TestTheRulesAnswerAsWritten(t *testing.T) {
	everyCluster(t, func(t *rapid.T, c cluster) {
		c.in.Mode = scheduling.Cases
		wantPlaces, wantMessages := runNaive(c.in, c.nodes, c.scores)
		for _, p := range scheduling.Run(c.in).Replicas {
			if diff := cmp.Diff(wantPlaces[p.ID], p.Place); diff != "" {
				t.Errorf("replica %d: place (-want +got)\n%s", p.ID, diff)
			}
			if diff := cmp.Diff(wantMessages[p.ID], p.Message); diff != "" {
				t.Errorf("replica %d: message (-want +got)\n%s", p.ID, diff)
			}
		}
	})
}

func TestWhereTheRulesPlaceEverythingTheSearchChangesNothing(t *testing.T) {
	everyCluster(t, func(t *rapid.T, c cluster) {
		wantPlaces, wantMessages := runNaive(c.in, c.nodes, c.scores)
		got := scheduling.Run(c.in)
		if got.Search != nil && got.Search.Found {
			return
		}
		for _, p := range got.Replicas {
			if wantPlaces[p.ID] != p.Place || wantMessages[p.ID] != p.Message {
				t.Errorf("replica %d: %v %q, want %v %q", p.ID, p.Place, p.Message, wantPlaces[p.ID], wantMessages[p.ID])
			}
		}
	})
}

func TestASecondPassChangesNothing(t *testing.T) {
	everyCluster(t, func(t *rapid.T, c cluster) {
		first := scheduling.Run(c.in)
		for i, r := range c.in.Replicas {
			for _, p := range first.Replicas {
				if p.ID == r.ID {
					c.in.Replicas[i].Place = p.Place
				}
			}
		}
		placed := map[int]scheduling.Place{}
		for _, p := range first.Replicas {
			if p.Scheduled == scheduling.True {
				placed[p.ID] = p.Place
			}
		}
		for _, p := range scheduling.Run(c.in).Replicas {
			if at, ok := placed[p.ID]; ok && (p.Place != at || p.Chosen) {
				t.Errorf("replica %d moved from %v to %v", p.ID, at, p.Place)
			}
		}
	})
}

func TestTheExplanationAgreesWithTheDecision(t *testing.T) {
	everyCluster(t, func(t *rapid.T, c cluster) {
		c.in.Mode = rapid.SampledFrom([]scheduling.Mode{scheduling.Live, scheduling.Cases}).Draw(t, "mode")
		plain := scheduling.Run(c.in)
		c.in.Explain = 1000
		for i, p := range scheduling.Run(c.in).Replicas {
			if p.Place != plain.Replicas[i].Place || p.Message != plain.Replicas[i].Message {
				t.Fatalf("replica %d: explained %v, decided %v", p.ID, p.Place, plain.Replicas[i].Place)
			}
			if p.Diagnosis != nil {
				checkExplanation(t, p)
			}
		}
	})
}

func checkExplanation(t *rapid.T, p scheduling.Placement) {
	t.Helper()
	d := p.Diagnosis
	if len(d.Alternatives) != d.Candidates {
		t.Errorf("replica %d: %d alternatives of %d candidates", p.ID, len(d.Alternatives), d.Candidates)
	}
	excluded := map[string]int{}
	for i, a := range d.Alternatives {
		sum := int64(0)
		for _, part := range a.Parts {
			sum += part.Points
		}
		if sum != a.Score {
			t.Errorf("replica %d: the parts of %v make %d, not %d", p.ID, a.Place, sum, a.Score)
		}
		if a.ExcludedBy != "" {
			excluded[a.ExcludedBy]++
		}
		if first := d.Alternatives[0]; !d.BySearch && a.ExcludedBy == "" && (a.Score > first.Score || !first.Chosen) {
			t.Errorf("replica %d: %v scored %d, the chosen %v %d", p.ID, a.Place, a.Score, first.Place, first.Score)
		}
		if a.Chosen != (p.Chosen && a.Place == p.Place) {
			t.Errorf("replica %d: alternative %d %v is chosen: %v", p.ID, i, a.Place, a.Chosen)
		}
	}
	for _, e := range d.Excluded {
		if excluded[e.Rule] != e.Count {
			t.Errorf("replica %d: %d alternatives are excluded by %q, counted %d", p.ID, excluded[e.Rule], e.Rule, e.Count)
		}
	}
}
