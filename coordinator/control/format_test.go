package control

import (
	"context"
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
)

// storing proposes to a store at once.
type storing struct{ *state.Store }

func (s storing) Propose(_ context.Context, t state.Txn) (uint64, error) {
	return statetest.Apply(s.Store, time.Now(), t)
}

func TestTheFormatIsRaisedWhenAllCoordinatorsServeIt(t *testing.T) {
	member := func(name string, highest int) *model.Member {
		m := &model.Member{Formats: [2]int{1, highest}}
		m.Name = name
		return m
	}
	cluster := &model.Cluster{Format: 1}
	cluster.Name = model.ClusterName
	for name, tc := range map[string]struct {
		members []model.Object
		want    int
	}{
		"all serve the newest":      {[]model.Object{member("c1", state.MaxFormat), member("c2", state.MaxFormat)}, state.MaxFormat},
		"some serve a newer one":    {[]model.Object{member("c1", state.MaxFormat), member("c2", state.MaxFormat+1)}, state.MaxFormat},
		"one serves an older one":   {[]model.Object{member("c1", state.MaxFormat), member("c2", 1)}, 1},
		"nobody is known to serve ": {[]model.Object{member("c1", 0)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := storing{state.NewStore(state.Options{})}
			statetest.Put(t, s, append(tc.members, cluster)...)
			for range 2 {
				out, err := Format{}.Decide(World{State: s.View()}, model.ClusterName)
				if err != nil {
					t.Fatal(err)
				}
				if out.Txn == nil {
					break
				}
				txn, err := out.Txn.Txn()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Propose(t.Context(), txn); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.View().Format(); got != tc.want {
				t.Errorf("format %d, want %d", got, tc.want)
			}
		})
	}
}
