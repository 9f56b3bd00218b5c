package observe_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/agenttest"
	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

// eyes are both observers on one simulated machine.
type eyes struct {
	*agenttest.Machine
	fabric *drbdtest.Fabric
	lvm    *observe.LVM
	drbd   *observe.DRBD
	locks  *storage.Locks

	mu      sync.Mutex
	changed []string
}

func open(t *testing.T, test func(t *testing.T, e *eyes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := drbdtest.NewFabric()
		m, err := agenttest.New(f, agenttest.Config{
			Name: "a", Version: drbdtest.V9, Root: t.TempDir(), Seed: 1,
			Groups: map[string]int64{"vg0": 1 << 30, "vg1": 1 << 30}, ThinPools: map[string]string{"vg1": "tp"},
		})
		if err != nil {
			t.Fatal(err)
		}
		e := &eyes{Machine: m, fabric: f, locks: storage.NewLocks()}
		e.lvm = observe.NewLVM(lvm.New(m.Run), e.locks, m.Root, func() {})
		e.drbd = observe.NewDRBD(m.Run, m.DRBD.Follow, m.Root, slog.New(slog.DiscardHandler), func(names ...string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.changed = append(e.changed, names...)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var ends sync.WaitGroup
		ends.Go(func() { _ = e.lvm.Run(ctx) })
		ends.Go(func() { _ = e.drbd.Run(ctx) })
		defer func() {
			cancel()
			ends.Wait()
			f.Close()
		}()
		synctest.Wait()
		test(t, e)
	})
}

// up brings up one resource without peers.
func (e *eyes) up(t *testing.T, name string, minor drbd.Minor) {
	t.Helper()
	tool := lvm.New(e.LVM.Run)
	if err := tool.LVCreate(t.Context(), lvm.LVSpec{VG: "vg0", Name: name, Size: 32 << 20, Tags: storage.Tags("c1", "r-"+name)}); err != nil {
		t.Fatal(err)
	}
	r := decide.Resource{
		Volume: name, Name: name, ReplicaUID: "u", Type: decide.Diskful, HostName: "a", Port: 17000,
		Addresses: map[string]string{"default": "10.0.0.1"},
		Devices:   []decide.Device{{Minor: minor, Backing: &decide.Backing{VG: "vg0", LV: name}}},
	}
	text, err := r.File(drbdtest.V9)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(e.Root, name+".res")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := drbd.New(e.DRBD.Run, drbdtest.V9)
	if err := d.CreateMD(t.Context(), drbd.MetaDev{Minor: minor, Disk: "/dev/vg0/" + name}, 7); err != nil {
		t.Fatal(err)
	}
	if err := d.Up(t.Context(), drbd.Ref{Name: name, File: file, Minors: []drbd.Minor{minor}, Alone: true}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestLVMIsLookedAtOnceAMinuteWhenNothingHappens(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		before := len(e.LVM.Commands())
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(e.LVM.Commands()) - before; n > 60 {
			t.Errorf("%d commands in an hour", n)
		}
	})
}

func TestWhatLVMHoldsIsTold(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		e.lvm.Serve(decide.Desired{Cluster: "c1"})
		if err := e.LVM.AddForeign("vg0", "root", 64<<20); err != nil {
			t.Fatal(err)
		}
		e.up(t, "rvol-x.0.0", 10000)
		e.lvm.Fresh(t.Context(), "vg0", 0)
		v := e.lvm.View()
		if !v.Seen || v.Err != "" || v.Blind != "" || len(v.VGs) != 2 || v.VGs[0].ForeignExtents != 16 {
			t.Errorf("groups %+v", v.VGs)
		}
		if pools := v.VGs[1].ThinPools; len(pools) != 1 || !pools[0].Zeroes || !pools[0].ErrorWhenFull {
			t.Errorf("pools %+v", pools)
		}
		if uuid, err := v.PoolUUID(v.VGs[1].UUID, "tp"); err != nil || uuid != v.VGs[1].ThinPools[0].UUID {
			t.Errorf("pool UUID %s, %v", uuid, err)
		}
		var ours decide.LV
		for _, lv := range v.LVs {
			if lv.Reservation != "" {
				ours = lv
			}
		}
		if ours.Name != "rvol-x.0.0" || ours.Cluster != "c1" || !ours.Open || !ours.Active {
			t.Errorf("ours is %+v", ours)
		}
	})
}

func TestNothingIsAskedOfToolsThatAreNotKnownYet(t *testing.T) {
	t.Parallel()
	d := observe.NewDRBD(nil, nil, "", slog.New(slog.DiscardHandler), func(...string) {})
	if _, err := d.Metadata(t.Context(), decide.Look{}, ""); err == nil {
		t.Error("metadata were read")
	}
	if _, _, err := d.Fresh(t.Context(), "rvol-db"); err == nil {
		t.Error("the kernel was asked")
	}
}

func TestNobodyWaitsForALookThatIsStuckOnceItIsToEnd(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		release := e.LVM.Hang("fullreport")
		defer release()
		var first sync.WaitGroup
		first.Go(func() { e.lvm.Fresh(t.Context(), "vg0", 0) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		e.lvm.Fresh(ctx, "vg0", 0)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("waited %s, want no longer than asked for", took)
		}
		first.Wait()
	})
}

func TestWhatWasKnownOfLVMIsKeptAndSaidToBeOld(t *testing.T) {
	for name, garbage := range map[string]string{"garbage": "{", "half an answer": `{"report":[{"vg":[{`, "another answer": `{}`} {
		t.Run(name, func(t *testing.T) {
			open(t, func(t *testing.T, e *eyes) {
				e.LVM.Garble("fullreport", garbage)
				e.lvm.Look(t.Context())
				v := e.lvm.View()
				if v.Err == "" || len(v.VGs) != 2 || v.VGs[0].Stale == "" || v.VGs[1].Stale == "" || v.Blind != "" {
					t.Errorf("view %+v", v)
				}
			})
		})
	}
}

func TestOneGroupThatCannotBeReadLeavesTheOthersKnown(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		release := e.LVM.Hang("lvchange")
		defer release()
		ended := make(chan error)
		go func() {
			ended <- e.locks.Change(t.Context(), "vg0", func() error { return lvm.New(e.LVM.Run).VGActivate(t.Context(), "vg0") })
		}()
		if err := <-ended; err != nil { // it does not hang: another verb
			t.Fatal(err)
		}
		go func() {
			ended <- e.locks.Change(t.Context(), "vg0", func() error {
				if err := lvm.New(e.LVM.Run).LVCreate(t.Context(), lvm.LVSpec{VG: "vg0", Name: "x", Size: 4 << 20}); err != nil {
					return err
				}
				return lvm.New(e.LVM.Run).LVActivate(t.Context(), "vg0", "x")
			})
		}()
		time.Sleep(time.Second)
		e.lvm.Look(t.Context()) // while it hangs and is not given up yet
		v := e.lvm.View()
		if v.VGs[0].Stale == "" || v.VGs[1].Stale != "" || v.Err == "" || v.Blind != "" {
			t.Errorf("while it hangs: %+v", v)
		}
		if err := <-ended; err == nil {
			t.Fatal("the command did not hang")
		}
		e.lvm.Look(t.Context())
		if v := e.lvm.View(); v.VGs[0].Stale == "" || v.VGs[1].Stale != "" {
			t.Errorf("when it is stuck: %+v", v.VGs)
		}
	})
}

func TestNothingKnownAtAllIsSaidSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := lvmtest.New(1)
		m.Garble("fullreport", "{")
		l := observe.NewLVM(lvm.New(m.Run), storage.NewLocks(), t.TempDir(), func() {})
		l.Look(t.Context())
		if v := l.View(); v.Blind == "" || v.Err == "" || !v.Seen {
			t.Errorf("view %+v", v)
		}
		m.Uninstall("lvm")
		l.Look(t.Context())
		if v := l.View(); v.Missing == "" {
			t.Errorf("without LVM: %+v", v)
		}
	})
}

func TestEventsTellWhichResourceChanged(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		e.up(t, "rvol-x.0.0", 10000)
		e.mu.Lock()
		names := e.changed
		e.mu.Unlock()
		if len(names) == 0 || names[0] != "rvol-x.0.0" {
			t.Errorf("changed: %q", names)
		}
		v := e.drbd.View()
		if len(v.Resources) != 1 || v.Resources[0].Devices[0].Disk != drbd.Inconsistent || v.Err != "" || v.Missing != "" {
			t.Errorf("view %+v", v)
		}
	})
}

func TestABrokenStreamIsFollowedAgainAndWhatWasKnownIsKept(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		e.up(t, "rvol-x.0.0", 10000)
		heal := e.DRBD.Inject(drbdtest.Fault{Match: "events2", Code: 20, Stderr: "no"})
		e.DRBD.EndStreams()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for _, v := range []observe.DRBDView{e.drbd.View(), e.drbd.ViewOf("rvol-x.0.0")} {
			if v.Err == "" || len(v.Resources) != 1 {
				t.Errorf("while it is broken: %+v", v)
			}
		}
		heal()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if v := e.drbd.View(); v.Err != "" || len(v.Resources) != 1 {
			t.Errorf("afterwards: %+v", v)
		}
	})
}

func TestAModuleThatIsLoadedLateIsFound(t *testing.T) {
	open(t, func(t *testing.T, e *eyes) {
		load := e.DRBD.Inject(drbdtest.Fault{Match: "--version", Garble: func([]byte) []byte {
			return []byte("DRBD_KERNEL_VERSION_CODE=0x000000\nDRBDADM_VERSION_CODE=0x091600\n")
		}})
		e.DRBD.EndStreams()
		time.Sleep(time.Minute)
		synctest.Wait()
		if v := e.drbd.View(); v.Missing == "" {
			t.Errorf("without the module: %+v", v)
		}
		load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if v := e.drbd.View(); v.Missing != "" || v.Version != drbdtest.V9 || v.Err != "" {
			t.Errorf("with it: %+v", v)
		}
	})
}

// resync is what DRBD 8.4 tells while a disk is being copied: an event at the beginning, and more only to those who ask.
const resync = `exists resource name:r0 role:Secondary suspended:no write-ordering:flush
exists connection name:r0 peer-node-id:0 conn-name:peer connection:Connected role:Secondary congested:no
exists device name:r0 volume:0 minor:0 disk:Inconsistent size:65536 read:0 written:0 al-writes:8 bm-writes:0 upper-pending:0 lower-pending:0 al-suspended:no blocked:no
exists peer-device name:r0 peer-node-id:0 conn-name:peer volume:0 replication:SyncTarget peer-disk:UpToDate resync-suspended:no received:0 sent:0 out-of-sync:%d pending:0 unacked:0
exists -
`

func TestHowFarAResyncIsIsAskedBecauseNoEventTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, asked := 65536, 0
		run := func(_ context.Context, argv ...string) ([]byte, error) {
			if argv[0] == "drbdadm" {
				return []byte("DRBD_KERNEL_VERSION_CODE=0x08040b\nDRBDADM_VERSION_CODE=0x091600\n"), nil
			}
			asked++
			left -= 16384
			return fmt.Appendf(nil, resync, left), nil
		}
		established := make(chan string)
		follow := func(ctx context.Context, _ []string, line func([]byte) error) error {
			for l := range strings.Lines(fmt.Sprintf(resync, left)) {
				if err := line([]byte(strings.TrimSpace(l))); err != nil {
					return err
				}
			}
			select {
			case l := <-established:
				if err := line([]byte(l)); err != nil {
					return err
				}
			case <-ctx.Done():
			}
			<-ctx.Done()
			return ctx.Err()
		}
		var changed []string
		d := observe.NewDRBD(run, follow, t.TempDir(), slog.New(slog.DiscardHandler), func(names ...string) { changed = append(changed, names...) })
		ctx, cancel := context.WithCancel(t.Context())
		var ends sync.WaitGroup
		ends.Go(func() { _ = d.Run(ctx) })
		done := func() float64 { return d.ViewOf("r0").Resources[0].Peers[0].Devices[0].Done }
		synctest.Wait()
		for _, want := range []float64{0, 25, 50} {
			if got := done(); got != want {
				t.Errorf("%v %% are done, want %v", got, want)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		established <- "change peer-device name:r0 peer-node-id:0 conn-name:peer volume:0 replication:Established out-of-sync:0"
		synctest.Wait()
		before := asked
		time.Sleep(time.Hour)
		if asked != before || done() != 100 || len(changed) < 3 {
			t.Errorf("after the end of the resync: asked %d times, %v %% done, changes %q", asked-before, done(), changed)
		}
		cancel()
		ends.Wait()
	})
}

// comparison is of DRBD 8.4, which tells nobody but readers of /proc/drbd how far it is.
var comparison = strings.ReplaceAll(fmt.Sprintf(resync, 0), "SyncTarget", "VerifyS")

func TestHowFarAComparisonOfDRBD84IsStandsInProc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(_ context.Context, argv ...string) ([]byte, error) {
			if argv[0] == "drbdadm" {
				return []byte("DRBD_KERNEL_VERSION_CODE=0x08040b\nDRBDADM_VERSION_CODE=0x091600\n"), nil
			}
			return []byte(comparison), nil
		}
		follow := func(ctx context.Context, _ []string, line func([]byte) error) error {
			for l := range strings.Lines(comparison) {
				if err := line([]byte(strings.TrimSpace(l))); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return ctx.Err()
		}
		root := t.TempDir()
		d := observe.NewDRBD(run, follow, root, slog.New(slog.DiscardHandler), func(...string) {})
		ctx, cancel := context.WithCancel(t.Context())
		var ends sync.WaitGroup
		ends.Go(func() { _ = d.Run(ctx) })
		for _, tell := range []struct {
			proc string
			want float64
		}{
			{"", drbd.Untold},
			{" 0: cs:VerifyS ro:Secondary/Secondary\n\t[==>......] verified: 18.8% (56444/65496)K\n", 18.8},
			{"nothing that anybody understands", 18.8},
			{" 0: cs:VerifyS ro:Secondary/Secondary\n\t[====>....] verified: 42.0% (30000/65496)K\n", 42},
		} {
			if tell.proc != "" {
				if err := os.MkdirAll(filepath.Join(root, "proc"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, "proc/drbd"), []byte(tell.proc), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := d.ViewOf("r0").Resources[0].Peers[0].Devices[0].Done; got != tell.want {
				t.Errorf("%v %% are compared, want %v", got, tell.want)
			}
		}
		cancel()
		ends.Wait()
	})
}
