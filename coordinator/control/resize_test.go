package control

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// resize asks for a new size of device 0 as the door does: again when somebody was faster.
func (c *cluster) resize(volume string, size int64) error {
	for {
		v := c.store.View()
		vol, _ := state.Get[*model.Volume](v, volume)
		b := state.NewTxn("test", "resize")
		grows, err := Resize(World{State: v, Inventory: c.inv.View(), Now: time.Now()}, b, vol, []model.VolumeDevice{{Size: size}})
		if err != nil || !grows {
			return err
		}
		txn, err := b.Txn()
		if err == nil {
			_, err = c.Propose(c.t.Context(), txn)
		}
		if !errors.Is(err, model.ErrConflict) {
			return err
		}
	}
}

func sized(volume string, size int64) func(state.View) bool {
	return func(v state.View) bool {
		vol, _ := state.Get[*model.Volume](v, volume)
		vs, _ := state.Get[*model.VolumeStatus](v, volume)
		return vol.Devices[0].Size == size && vs.Datamesh.Devices[0].Size == size && len(vs.Transitions) == 0
	}
}

func resizeStep(volume, step string) func(state.View) bool {
	return func(v state.View) bool {
		vs, _ := state.Get[*model.VolumeStatus](v, volume)
		if len(vs.Transitions) == 0 {
			return false
		}
		t := vs.Transitions[0]
		return t.Active() >= 0 && t.Steps[t.Active()].Name == step
	}
}

// oneVolume is a cluster of two nodes with a formed volume of 1 GiB.
func oneVolume(t *testing.T, extents int64, f func(c *cluster)) {
	t.Helper()
	bubble(t, 2, extents, func(c *cluster) {
		c.class("r2", 1, 0)
		c.volume("db-1", "r2", gib)
		c.within(time.Minute, "formed", formed("db-1"))
		c.mu.Lock()
		c.sizes["db-1"] = gib
		c.mu.Unlock()
		f(c)
	})
}

func TestAVolumeGrowsWhenEveryCopyHas(t *testing.T) {
	t.Parallel()
	oneVolume(t, 1000, func(c *cluster) {
		c.change("n2", func(a *agent) { a.stuck = true })
		if err := c.resize("db-1", 2*gib); err != nil {
			t.Fatal(err)
		}
		c.within(time.Minute, "LVs grow", resizeStep("db-1", transition.GrowBacking))
		time.Sleep(time.Minute)
		if vol, _ := state.Get[*model.Volume](c.store.View(), "db-1"); vol.Devices[0].Size != gib {
			t.Error("the volume has its new size before every copy has")
		}
		if s := c.status("db-1").Transitions[0].Steps[0]; !strings.Contains(s.Message, "1 (n2)") {
			t.Errorf("waits for %q, want it to name replica 1 on n2", s.Message)
		}
		c.change("n2", func(a *agent) { a.stuck = false })
		c.within(time.Minute, "it has 2 GiB", sized("db-1", 2*gib))
		v := c.store.View()
		for r := range v.ReservationsOfVolume("db-1") {
			if r.Pending != 0 || r.Granted != BackingBytes(2*gib, "8.4", 4<<20) {
				t.Errorf("reservation of %s: %d granted, %d pending", r.Owner, r.Granted, r.Pending)
			}
		}
		checkLedger(t, v)
	})
}

func TestAResizeReservesOnEveryCopyOrOnNone(t *testing.T) {
	t.Parallel()
	oneVolume(t, 600, func(c *cluster) {
		c.change("n1", func(a *agent) { a.size = 1000 })
		c.within(time.Minute, "n1 has grown", func(v state.View) bool {
			r, _ := state.Get[*model.Capacity](v, "n1/vg-n1")
			return r.Extents == 1000
		})
		err := c.resize("db-1", 3*gib)
		if !errors.Is(err, model.ErrNoSpace) || !strings.Contains(err.Error(), "n2/vg0") {
			t.Errorf("got %v, want no space in n2/vg0", err)
		}
		for r := range c.store.View().ReservationsOfVolume("db-1") {
			if r.Pending != 0 {
				t.Errorf("%d bytes stay pending for %s", r.Pending, r.Owner)
			}
		}
		if n := len(c.status("db-1").Transitions); n != 0 {
			t.Errorf("%d transitions are left", n)
		}
	})
}

func TestAResizeIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	oneVolume(t, 2000, func(c *cluster) {
		for _, tc := range []struct {
			size int64
			is   error
			says string
		}{
			{gib / 2, model.ErrInvalid, "never made smaller"},
			{0, model.ErrInvalid, "more than 0"},
			{2 << 50, model.ErrInvalid, "1 PiB"},
			{gib, nil, ""},
		} {
			err := c.resize("db-1", tc.size)
			if !errors.Is(err, tc.is) || tc.is != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("resize to %d: %v, want it to say %q", tc.size, err, tc.says)
			}
		}
		c.change("n1", func(a *agent) { a.stuck = true })
		if err := c.resize("db-1", 2*gib); err != nil {
			t.Fatal(err)
		}
		if err := c.resize("db-1", 3*gib); !errors.Is(err, model.ErrBusy) {
			t.Errorf("a second resize beside the first: %v", err)
		}
		lvg, _ := state.Get[*model.LVG](c.store.View(), "n2/vg0")
		cordoned := model.Clone(lvg)
		cordoned.Unschedulable = true
		c.change("n1", func(a *agent) { a.stuck = false })
		c.within(time.Minute, "grown", sized("db-1", 2*gib))
		c.put(cordoned)
		if err := c.resize("db-1", 3*gib); !errors.Is(err, model.ErrNoSpace) || !strings.Contains(err.Error(), "cordoned") {
			t.Errorf("on a cordoned LVG: %v", err)
		}
	})
}

func TestAResizeWaitsUntilNothingIsBehind(t *testing.T) {
	t.Parallel()
	oneVolume(t, 1000, func(c *cluster) {
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.lost = true })
		}
		time.Sleep(time.Second)
		if err := c.resize("db-1", 2*gib); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		vs := c.status("db-1")
		if len(vs.Transitions) != 1 || vs.Transitions[0].Active() != -1 {
			t.Fatalf("it went on without a peer: %+v", vs.Transitions)
		}
		if s := vs.Transitions[0].Steps[0]; !strings.Contains(s.Message, "want Connected") {
			t.Errorf("it says %q", s.Message)
		}
		for _, n := range []string{"n1", "n2"} {
			c.change(n, func(a *agent) { a.lost = false })
		}
		c.within(time.Minute, "it goes on", sized("db-1", 2*gib))
	})
}

func TestAnAbandonedResizeGivesBackWhatWasNotUsed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func(c *cluster) // makes it be given up
		says string
	}{
		{"by the operator", func(c *cluster) {
			for err := model.ErrConflict; errors.Is(err, model.ErrConflict); {
				v := c.store.View()
				vol, _ := state.Get[*model.Volume](v, "db-1")
				b := state.NewTxn("test", "abort")
				if err := AbandonResize(v, b, vol, "asked for by admin/a", time.Now()); err != nil {
					c.t.Fatal(err)
				}
				txn, _ := b.Txn()
				if _, err = c.Propose(c.t.Context(), txn); err != nil && !errors.Is(err, model.ErrConflict) {
					c.t.Fatal(err)
				}
			}
		}, "asked for by admin/a"},
		{"because a node cannot", func(c *cluster) {
			c.change("n2", func(a *agent) { a.full = "volume group vg0 has no free extents" })
		}, "no free extents"},
		{"because its time is over", func(*cluster) { time.Sleep(11 * time.Minute) }, "not done after 10m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			oneVolume(t, 1000, func(c *cluster) {
				before := c.store.View().Charged(model.PoolID{Node: "n2", VG: "vg-n2"})
				c.change("n2", func(a *agent) { a.stuck = true })
				if err := c.resize("db-1", 2*gib); err != nil {
					t.Fatal(err)
				}
				c.within(time.Minute, "LVs grow", resizeStep("db-1", transition.GrowBacking))
				time.Sleep(5 * time.Second) // n1 has grown
				tc.end(c)
				c.within(time.Minute, "given up", func(state.View) bool { return len(c.status("db-1").Transitions) == 0 })
				v := c.store.View()
				if got := v.Charged(model.PoolID{Node: "n2", VG: "vg-n2"}); got != before {
					t.Errorf("n2 is charged %d bytes, %d before", got, before)
				}
				if got := v.Charged(model.PoolID{Node: "n1", VG: "vg-n1"}); got != BackingBytes(2*gib, "8.4", 4<<20) {
					t.Errorf("n1 is charged %d bytes, but its LV has grown", got)
				}
				cond, _ := c.status("db-1").Conditions.Get(transition.Resized)
				if cond.Status != model.False || !strings.Contains(cond.Message, tc.says) {
					t.Errorf("condition %+v, want it to say %q", cond, tc.says)
				}
				if vol, _ := state.Get[*model.Volume](v, "db-1"); vol.Devices[0].Size != gib {
					t.Errorf("the volume has %d bytes", vol.Devices[0].Size)
				}
				c.change("n2", func(a *agent) { a.stuck, a.full = false, "" })
				if err := c.resize("db-1", 2*gib); err != nil {
					t.Fatal(err)
				}
				c.within(time.Minute, "the next try succeeds", sized("db-1", 2*gib))
			})
		})
	}
}

func TestAHundredVolumesGrowWholeOrNotAtAllThroughElections(t *testing.T) {
	t.Parallel()
	const volumes = 100
	bubble(t, 3, volumes*30, func(c *cluster) {
		c.class("r2", 1, 0)
		for i := range volumes {
			c.volume(fmt.Sprintf("v%d", i), "r2", 64*mib)
		}
		for i := range volumes {
			name := fmt.Sprintf("v%d", i)
			c.within(10*time.Minute, "formed", formed(name))
			c.mu.Lock()
			c.sizes[name] = 64 * mib
			c.mu.Unlock()
		}
		asked, refused := 0, 0
		for i := range volumes {
			switch err := c.resize(fmt.Sprintf("v%d", i), 256*mib); {
			case err == nil:
				asked++
			case errors.Is(err, model.ErrNoSpace):
				refused++
			default:
				t.Fatal(err)
			}
			if i%20 == 0 {
				c.elect()
			}
		}
		if asked == 0 || refused == 0 {
			t.Fatalf("%d grow and %d are refused: this test shows nothing", asked, refused)
		}
		for range 10 {
			time.Sleep(300 * time.Millisecond)
			c.elect()
		}
		c.within(10*time.Minute, "all have ended", func(v state.View) bool {
			for vs := range state.All[*model.VolumeStatus](v) {
				if len(vs.Transitions) > 0 {
					return false
				}
			}
			return true
		})
		grown := 0
		v := c.store.View()
		checkLedger(t, v)
		for vol := range state.All[*model.Volume](v) {
			want := BackingBytes(vol.Devices[0].Size, "8.4", 4<<20)
			for r := range v.ReservationsOfVolume(vol.Name) {
				if r.Charge() != want || r.Pending != 0 {
					t.Errorf("%s has %d bytes, its copy %s %d granted and %d pending", vol.Name, vol.Devices[0].Size, r.Owner, r.Granted, r.Pending)
				}
			}
			if vol.Devices[0].Size == 256*mib {
				grown++
			}
		}
		if grown != asked {
			t.Errorf("%d volumes have grown, %d were granted", grown, asked)
		}
	})
}
