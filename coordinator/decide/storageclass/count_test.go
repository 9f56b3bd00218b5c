package storageclass_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	inPool := func(v storageclass.Volume, pool string) storageclass.Volume {
		v.Status.Configuration.Pool = pool
		return v
	}
	bare := storageclass.Volume{Volume: &model.Volume{}}
	for _, tc := range []struct {
		name    string
		volumes []storageclass.Volume
		want    model.VolumeCounts
	}{
		{"none", nil, model.VolumeCounts{Aligned: new(0), StaleConfiguration: new(0)}},
		{"one without a status is in the total only", []storageclass.Volume{bare}, model.VolumeCounts{Total: 1, Aligned: new(0), StaleConfiguration: new(0)}},
		{
			"one without verdicts is neither aligned nor stale",
			[]storageclass.Volume{volume("a", 2, 2)},
			model.VolumeCounts{Total: 1, Aligned: new(0), StaleConfiguration: new(0), UsedPools: []string{"p"}},
		},
		{
			"aligned needs both",
			[]storageclass.Volume{volume("a", 2, 2, ready, satisfied), volume("b", 2, 2, ready), volume("c", 2, 2, satisfied)},
			model.VolumeCounts{Total: 3, Aligned: new(1), StaleConfiguration: new(0), UsedPools: []string{"p"}},
		},
		{
			"stale and in conflict are counted apart",
			[]storageclass.Volume{volume("a", 2, 1, stale, inConflict), volume("b", 2, 1, stale, satisfied), volume("c", 2, 2, ready, inConflict)},
			model.VolumeCounts{Total: 3, Aligned: new(0), StaleConfiguration: new(2), InConflictWithEligibleNodes: 2, UsedPools: []string{"p"}},
		},
		{
			"unknown is not False",
			[]storageclass.Volume{volume("a", 2, 2, is("ConfigurationReady", model.Unknown), is("SatisfyEligibleNodes", model.Unknown))},
			model.VolumeCounts{Total: 1, Aligned: new(0), StaleConfiguration: new(0), UsedPools: []string{"p"}},
		},
		{
			"one that has not seen the generation hides two numbers, not the others",
			[]storageclass.Volume{volume("a", 1, 1, ready, satisfied), volume("b", 2, 2, ready, inConflict)},
			model.VolumeCounts{Total: 2, InConflictWithEligibleNodes: 1, PendingObservation: 1, UsedPools: []string{"p"}},
		},
		{
			"one that has seen nothing yet is not pending",
			[]storageclass.Volume{volume("a", 0, 0, stale)},
			model.VolumeCounts{Total: 1, Aligned: new(0), StaleConfiguration: new(1), UsedPools: []string{"p"}},
		},
		{
			"pools by name, each once",
			[]storageclass.Volume{inPool(volume("a", 2, 2), "q"), inPool(volume("b", 2, 2), "p"), inPool(volume("c", 2, 2), "q")},
			model.VolumeCounts{Total: 3, Aligned: new(0), StaleConfiguration: new(0), UsedPools: []string{"p", "q"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, storageclass.Count(tc.volumes, 2)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhyAVolumeIsHeld(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*storageclass.Volume)
		want   rollout.Plan
	}{
		{"nothing holds it", func(*storageclass.Volume) {}, rollout.Plan{Next: []string{"a"}}},
		{"it is being deleted", func(v *storageclass.Volume) { v.DeletingSince = time.Unix(1, 0) }, rollout.Plan{Held: []rollout.Held{{Volume: "a", Reason: "it is being deleted"}}}},
		{"it is forming", func(v *storageclass.Volume) { v.Status.Formed = false }, rollout.Plan{Held: []rollout.Held{{Volume: "a", Reason: "it is not formed yet"}}}},
		{"it is stopped", func(v *storageclass.Volume) { v.Stopped = true }, rollout.Plan{Held: []rollout.Held{{Volume: "a", Reason: "it is stopped"}}}},
		{"its data moves", func(v *storageclass.Volume) { v.Status.Transitions = []model.Transition{{Type: "any"}} }, rollout.Plan{Running: []string{"a"}}},
		{"something else happens to it", func(v *storageclass.Volume) { v.Status.Transitions = []model.Transition{{Compatible: true}} }, rollout.Plan{Next: []string{"a"}}},
		{"it has the configuration already", func(v *storageclass.Volume) { v.Status.ConfigurationGeneration = 2 }, rollout.Plan{}},
		{"its members have yet to render it", func(v *storageclass.Volume) {
			v.Status.ConfigurationGeneration, v.Status.ConfiguringRevision = 2, 9
		}, rollout.Plan{Running: []string{"a"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := volume("a", 2, 1, stale)
			tc.change(&v)
			tc.want.Strategy, tc.want.Max = "RollingUpdate", 2
			got := storageclass.Rollout(class(1, 1, "Ignored"), standing(2, nil), []storageclass.Volume{v})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	c := class(1, 1, "Ignored")
	c.ConflictMax = 0
	if got := storageclass.Repair(c, nil); got.Max != model.DefaultMaxParallel {
		t.Errorf("%d at a time", got.Max)
	}
}

// The numbers agree with each other, however the volumes are.
func TestStatisticsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		statuses := []model.Status{"", model.True, model.False, model.Unknown}
		var volumes []storageclass.Volume
		stale, conflict := map[string]bool{}, map[string]bool{}
		for i := range rapid.IntRange(0, 20).Draw(t, "volumes") {
			name := fmt.Sprintf("v%02d", i)
			var cs model.Conditions
			config, places := rapid.SampledFrom(statuses).Draw(t, "config"), rapid.SampledFrom(statuses).Draw(t, "places")
			if config != "" {
				cs = append(cs, is("ConfigurationReady", config))
			}
			if places != "" {
				cs = append(cs, is("SatisfyEligibleNodes", places))
			}
			stale[name], conflict[name] = config == model.False, places == model.False
			runs := rapid.Int64Range(1, 2).Draw(t, "runs")
			volumes = append(volumes, volume(name, rapid.Int64Range(0, 2).Draw(t, "seen"), runs, cs...))
		}
		n := storageclass.Count(volumes, 2)
		if (n.Aligned == nil) != (n.PendingObservation > 0) || (n.StaleConfiguration == nil) != (n.PendingObservation > 0) {
			t.Fatalf("hidden without reason, or shown: %+v", n)
		}
		if n.Total != len(volumes) || n.InConflictWithEligibleNodes != trues(conflict) {
			t.Fatalf("got %+v", n)
		}
		if n.Aligned != nil && (*n.StaleConfiguration != trues(stale) || *n.Aligned+*n.StaleConfiguration > n.Total) {
			t.Fatalf("got %+v", n)
		}
	})
}

func trues(m map[string]bool) (n int) {
	for _, b := range m {
		if b {
			n++
		}
	}
	return n
}
