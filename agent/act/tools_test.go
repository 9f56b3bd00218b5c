package act_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestAToolThatHangsHoldsUpItsVolumeGroupAlone(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		n := p.nodes[0]
		n.start()
		release := n.LVM.Hang("lvcreate")
		stuck := n.replica(0, false)
		n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{stuck} })
		settle() // long enough for the command to be given up as stuck
		release()
		release = n.LVM.Hang("lvremove") // harmless: nobody removes
		defer release()
		wait(t, "goes on by itself", func() bool { return n.state().Preconfigured })
	})
}

func TestAnotherVolumeGroupGoesOnWhileOneHangs(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		n := p.nodes[0]
		n.start()
		first := n.replica(0, false)
		n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{first} })
		wait(t, "preconfigured", func() bool { return n.state().Preconfigured })
		release := n.LVM.Hang("lvremove")
		defer release()
		b := first.Devices[0].Backing
		other := n.replica(1, true)
		other.Volume, other.Name, other.ReplicaUID, other.Port = "other", "rvol-other", "uid-9", 17001
		other.Devices[0].Minor, other.Devices[0].Backing.LV, other.Devices[0].Backing.Reservation = 10001, "rvol-other.0.1", "res-9"
		n.give(func(d *decide.Desired) {
			d.Resources = nil
			d.Releases = []decide.Release{{
				Reservation: b.Reservation, Volume: "db", Resource: resource, ReplicaUID: "uid-0", VG: b.VG, VGUUID: b.VGUUID, LV: b.LV,
			}}
		})
		time.Sleep(time.Second) // lvremove hangs now
		n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{other} })
		began := time.Now()
		wait(t, "the other", func() bool {
			states, _ := n.engine.States()
			for _, s := range states {
				if s.Volume == "other" && s.Preconfigured {
					return true
				}
			}
			return false
		})
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the other took %s", took)
		}
	})
}

func TestGarbageFromAToolIsNotActedOn(t *testing.T) {
	for name, garbage := range map[string]string{"no JSON": "oops", "cut short": `{"report":[{"vg":[`, "nothing": `{}`} {
		t.Run(name, func(t *testing.T) {
			world(t, drbdtest.V9, func(t *testing.T, p *pair) {
				p.inUse()
				n := p.nodes[1]
				n.LVM.Garble("fullreport", garbage)
				p.order(n)
				settle()
				if _, released := n.engine.States(); len(released) > 0 || n.ran("lvremove") > 0 || n.state().Error == "" {
					t.Errorf("released %v, %+v", released, n.state())
				}
				if v := n.lvm.View(); v.Err == "" || len(v.LVs) == 0 {
					t.Errorf("what was known is not kept: %+v", v)
				}
				n.LVM.Garble("fullreport", "")
				wait(t, "released", func() bool { _, released := n.engine.States(); return len(released) == 1 })
			})
		})
	}
}

func TestGarbageFromDRBDIsNotActedOn(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			p.inUse()
			n := p.nodes[1]
			heal := n.DRBD.Inject(drbdtest.Fault{Garble: func(b []byte) []byte { return b[:len(b)/2] }})
			n.DRBD.EndStreams()
			time.Sleep(10 * time.Second)
			p.order(n)
			settle()
			if n.ran("lvremove") > 0 || n.ran("drbdsetup down") > 0 {
				t.Error("something was taken away on the strength of garbage")
			}
			heal()
			wait(t, "released", func() bool { _, released := n.engine.States(); return len(released) == 1 })
		})
	})
}

func TestMissingToolsAreNamed(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		n := p.nodes[0]
		r := n.replica(0, true)
		n.LVM.Uninstall("lvm")
		n.start()
		n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{r} })
		wait(t, "no tool", func() bool { return n.state().ErrorClass == decide.NoTool })
		if n.lvm.View().Missing == "" {
			t.Error("LVM is not said to be missing")
		}
	})
}

func TestAnAdjustThatWouldTakeSomethingAwayIsNotRun(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			p.inUse()
			n := p.nodes[0]
			heal := n.DRBD.Inject(drbdtest.Fault{Match: "-d adjust", Garble: func([]byte) []byte { return []byte("drbdsetup down rvol-db\n") }})
			ran := n.ran("adjust") - n.ran("-d adjust")
			n.give(func(d *decide.Desired) { d.Resources[0].Options = map[string]string{"ping-int": "5"} })
			wait(t, "refused", func() bool { s := n.state(); return s.ErrorClass == decide.Refused && s.Definite })
			settle()
			if now := n.ran("adjust") - n.ran("-d adjust"); now != ran || n.role() != drbd.Primary {
				t.Errorf("adjust ran %d times more, role %s", now-ran, n.role())
			}
			heal()
			wait(t, "adjusted", func() bool { return n.state().Error == "" && n.ran("adjust")-n.ran("-d adjust") > ran })
		})
	})
}

func TestAFileThatTheToolsRefuseDoesNotReplaceTheOldOne(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		p.inUse()
		n := p.nodes[0]
		files := func() string {
			names, err := n.Files("etc/drbd.d")
			b, err2 := os.ReadFile(filepath.Join(n.Root, "etc/drbd.d/rvol", resource+".res"))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			return strings.Join(names, " ") + string(b)
		}
		before := files()
		n.DRBD.Inject(drbdtest.Fault{Match: "dump", Code: 10, Stderr: "parse error"})
		n.give(func(d *decide.Desired) { d.Resources[0].Options = map[string]string{"ping-int": "5"} })
		wait(t, "refused", func() bool { return strings.Contains(n.state().Error, "check the new file") })
		if files() != before {
			t.Errorf("was %s, is %s", before, files())
		}
		if !strings.HasPrefix(before, "rvol.res rvol/rvol-db.res") && !strings.HasPrefix(before, "rvol/rvol-db.res rvol.res") {
			t.Errorf("files: %s", before)
		}
	})
}
