package rollout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/model"
)

func TestWhoseTurnItIs(t *testing.T) {
	t.Parallel()
	wants := func(names ...string) (out []rollout.Volume) {
		for _, n := range names {
			out = append(out, rollout.Volume{Name: n, Wants: true})
		}
		return out
	}
	for _, tc := range []struct {
		name     string
		strategy string
		most     int
		volumes  []rollout.Volume
		want     rollout.Plan
		says     string
	}{
		{"nobody wants anything", "RollingUpdate", 2, []rollout.Volume{{Name: "a"}}, rollout.Plan{}, "2 at a time"},
		{
			"by name, so many at a time", "RollingUpdate", 2, wants("c", "a", "b"),
			rollout.Plan{Next: []string{"a", "b"}, Waiting: []string{"c"}},
			"2 at a time; next a, b; 1 waiting",
		},
		{
			"one under way keeps its slot", "RollingUpdate", 2, append(wants("a", "b"), rollout.Volume{Name: "z", Wants: true, Running: true}),
			rollout.Plan{Next: []string{"a"}, Running: []string{"z"}, Waiting: []string{"b"}},
			"2 at a time; running z; next a; 1 waiting",
		},
		{
			"one that is done but not confirmed keeps it too", "RollingUpdate", 1, append(wants("a"), rollout.Volume{Name: "z", Running: true}),
			rollout.Plan{Running: []string{"z"}, Waiting: []string{"a"}},
			"1 at a time; running z; 1 waiting",
		},
		{
			"more under way than there are slots", "RollingUpdate", 1,
			append(wants("a"), rollout.Volume{Name: "y", Running: true}, rollout.Volume{Name: "z", Running: true}),
			rollout.Plan{Running: []string{"y", "z"}, Waiting: []string{"a"}},
			"1 at a time; running y, z; 1 waiting",
		},
		{
			"one that may not begin lets others pass", "RollingRepair", 1, append(wants("b"), rollout.Volume{Name: "a", Wants: true, Held: "it is stopped"}),
			rollout.Plan{Next: []string{"b"}, Held: []rollout.Held{{Volume: "a", Reason: "it is stopped"}}},
			"1 at a time; next b; 1 held (a: it is stopped)",
		},
		{
			"NewVolumesOnly leaves them", "NewVolumesOnly", 2, wants("a"),
			rollout.Plan{Held: []rollout.Held{{Volume: "a", Reason: "NewVolumesOnly: it stays as it is until somebody changes it"}}},
			"NewVolumesOnly: they stay as they are",
		},
		{
			"Manual leaves them, and lets end what began", "Manual", 2, append(wants("a"), rollout.Volume{Name: "b", Wants: true, Running: true}),
			rollout.Plan{Running: []string{"b"}, Held: []rollout.Held{{Volume: "a", Reason: "Manual: it stays as it is until somebody changes it"}}},
			"Manual: they stay as they are",
		},
		{
			"many names are counted", "RollingUpdate", 7, wants("a", "b", "c", "d", "e", "f", "g"),
			rollout.Plan{Next: []string{"a", "b", "c", "d", "e", "f", "g"}},
			"7 at a time; next a, b, c, d, e and 2 more",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.want.Strategy, tc.want.Max = tc.strategy, tc.most
			got := rollout.Order(tc.strategy, tc.most, tc.volumes)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if got.String() != tc.says {
				t.Errorf("says %q, want %q", got, tc.says)
			}
			if got.Idle() != (len(tc.want.Next)+len(tc.want.Running)+len(tc.want.Waiting)+len(tc.want.Held) == 0) {
				t.Errorf("idle: %v", got.Idle())
			}
		})
	}
}

// Whatever ends, and whenever: never more at a time than allowed, and in the end all are done.
func TestARolloutEndsAndIsNeverTooWide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(t, "most")
		volumes := make([]rollout.Volume, rapid.IntRange(0, 12).Draw(t, "volumes"))
		for i := range volumes {
			volumes[i] = rollout.Volume{Name: string(rune('a' + i)), Wants: rapid.Bool().Draw(t, "wants")}
		}
		for round := 0; ; round++ {
			plan := rollout.Order(model.RolloutRollingUpdate, most, volumes)
			if plan.Idle() {
				return
			}
			if n := len(plan.Running) + len(plan.Next); n > most {
				t.Fatalf("%d at a time, %d allowed", n, most)
			}
			if len(plan.Running)+len(plan.Next) == 0 || round > 100 {
				t.Fatalf("it stands still: %s", plan)
			}
			for i, v := range volumes {
				switch {
				case v.Running && rapid.Bool().Draw(t, "ends"):
					volumes[i] = rollout.Volume{Name: v.Name}
				case v.Wants && !v.Running && slices.Contains(plan.Next, v.Name):
					volumes[i].Running = true
				}
			}
		}
	})
}

func TestWhatAChangeAsksOfAVolume(t *testing.T) {
	t.Parallel()
	base := model.Configuration{
		FTT: 1, Topology: "Ignored", VolumeAccess: "Any", Pool: "p", PoolType: model.LVM, SystemNetworks: []string{"default"},
		OnNoQuorum: "suspend-io", Wipe: "none", DRBD: map[string]string{"timeout": "60"},
	}
	for _, tc := range []struct {
		name   string
		change func(*model.Configuration)
		same   bool // places
		want   rollout.Effect
		says   []string
	}{
		{"nothing", func(*model.Configuration) {}, true, rollout.None, nil},
		{
			"what counts only for new copies", func(c *model.Configuration) { c.Wipe, c.TrustZeroed = "zero", true }, true, rollout.None,
			[]string{"wipe none -> zero", "trust zeroed false -> true"},
		},
		{"another name for the same places", func(c *model.Configuration) { c.Pool = "q" }, true, rollout.None, []string{"pool p -> q"}},
		{"a pool that has other places", func(c *model.Configuration) { c.Pool = "q" }, false, rollout.Moves, []string{"pool p -> q"}},
		{
			"an option of DRBD", func(c *model.Configuration) { c.DRBD = map[string]string{"ping-int": "5"} }, true, rollout.Options,
			[]string{"ping-int default -> 5", "timeout 60 -> default"},
		},
		{
			"what happens without quorum", func(c *model.Configuration) { c.OnNoQuorum = "io-error" }, true, rollout.Options,
			[]string{"on no quorum suspend-io -> io-error"},
		},
		{"FTT", func(c *model.Configuration) { c.FTT, c.Wipe = 2, "zero" }, true, rollout.Moves, []string{"FTT 1 -> 2", "wipe none -> zero"}},
		{"GMDR", func(c *model.Configuration) { c.GMDR = 1 }, true, rollout.Moves, []string{"GMDR 0 -> 1"}},
		{"networks", func(c *model.Configuration) { c.SystemNetworks = []string{"fast"} }, true, rollout.Moves, []string{"networks default -> fast"}},
		{"topology", func(c *model.Configuration) { c.Topology = "Zonal" }, true, rollout.Moves, []string{"topology Ignored -> Zonal"}},
		{"access", func(c *model.Configuration) { c.VolumeAccess = "Local" }, true, rollout.Moves, []string{"volume access Any -> Local"}},
		{"kind of storage", func(c *model.Configuration) { c.PoolType = model.LVMThin }, true, rollout.Moves, []string{"storage type LVM -> LVMThin"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			next := base
			tc.change(&next)
			if got := rollout.Between(&base, &next, tc.same); got != tc.want {
				t.Errorf("effect %v, want %v", got, tc.want)
			}
			if diff := cmp.Diff(tc.says, rollout.Differences(&base, &next)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
