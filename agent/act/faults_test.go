package act_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/act"
	"rvol/agent/decide"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	"rvol/lvm"
)

// world runs a test on two nodes of one DRBD version.
func world(t *testing.T, v drbd.Version, test func(t *testing.T, p *pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, v, true)
		defer p.end()
		test(t, p)
	})
}

// inUse is a formed volume, Primary on the first node.
func (p *pair) inUse() {
	p.Helper()
	p.form()
	p.nodes[0].give(func(d *decide.Desired) { d.Resources[0].Primary = true })
	wait(p.T, "Primary", func() bool { return p.nodes[0].role() == drbd.Primary })
}

// settle lets a while pass in which nothing should happen.
func settle() {
	time.Sleep(3 * time.Minute)
	synctest.Wait()
}

func versions(t *testing.T, test func(t *testing.T, v drbd.Version)) {
	t.Helper()
	for name, v := range map[string]drbd.Version{"8.4": drbdtest.V84, "9": drbdtest.V9} {
		t.Run(name, func(t *testing.T) { test(t, v) })
	}
}

func TestAStaleOrderIsRefused(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		n := p.nodes[0]
		n.start()
		n.give(func(d *decide.Desired) { d.Order = decide.Order{Incarnation: 2, Index: 5} })
		for _, old := range []decide.Order{{Incarnation: 2, Index: 4}, {Incarnation: 1, Index: 99}} {
			stale := n.order
			stale.Order = old
			if _, refused := errors.AsType[*act.StaleOrderError](n.journal.Accept(stale)); !refused {
				t.Errorf("order %s was accepted after %s", old, n.order.Order)
			}
		}
		n.stop()
		n.start()
		if d, ok := n.journal.Order(); !ok || d.Order != n.order.Order {
			t.Errorf("after a restart the newest order is %v", d.Order)
		}
	})
}

func TestTheJournalIsForRootAloneAndKeepsSecrets(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		p.inUse()
		n := p.nodes[0]
		n.stop()
		n.start()
		if d, _ := n.journal.Order(); d.Resources[0].Secret != "secret" {
			t.Error("the secret did not survive a restart")
		}
		for _, argv := range append(n.DRBD.Ran(), flatten(n.LVM.Commands())...) {
			if strings.Contains(argv, "secret") {
				t.Errorf("a secret is in %s", argv)
			}
		}
	})
}

func flatten(commands [][]string) []string {
	var lines []string
	for _, argv := range commands {
		lines = append(lines, strings.Join(argv, " "))
	}
	return lines
}

func TestAfterARebootWithoutCoordinators(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			p.inUse()
			n := p.nodes[0]
			n.stop()
			n.loseAndRegainPower()
			n.confirm = false
			n.start()
			wait(t, "up and in sync", func() bool { return n.disk() == drbd.UpToDate && n.connected() })
			settle()
			want := drbd.Primary // DRBD 9's quorum makes sure that no other node is
			if v.Is84() {
				want = drbd.Secondary
			}
			if got := n.role(); got != want {
				t.Errorf("role is %s, want %s", got, want)
			}
			n.again()
			wait(t, "Primary by a coordinator's word", func() bool { return n.role() == drbd.Primary })
		})
	})
}

func TestAnOrderFromTheJournalTakesNothingAway(t *testing.T) {
	world(t, drbdtest.V84, func(t *testing.T, p *pair) {
		p.inUse()
		n := p.nodes[0]
		// A crash between accepting the order to release and obeying it.
		n.hook = nil
		n.stop()
		n.order.Order.Index++
		b := n.order.Resources[0].Devices[0].Backing
		n.order.Releases = []decide.Release{{
			Reservation: b.Reservation, Resource: resource, Volume: "db", ReplicaUID: "uid-0",
			VG: b.VG, VGUUID: b.VGUUID, ThinPool: b.ThinPool, LV: b.LV, LVUUID: b.LVUUID,
		}}
		n.order.Resources = nil
		if err := n.journal.Accept(n.order); err != nil {
			t.Fatal(err)
		}
		n.confirm = false
		n.start()
		settle()
		if n.role() != drbd.Primary || n.ran("lvremove") > 0 {
			t.Errorf("role %s, %d lvremove without a coordinator", n.role(), n.ran("lvremove"))
		}
		n.again()
		wait(t, "released by a coordinator's word", func() bool { _, released := n.engine.States(); return len(released) == 1 })
	})
}

func TestAFencedNodeIsDemotedAndNeverByForce(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			p.inUse()
			n := p.nodes[0]
			done, err := n.DRBD.Open(10000, "mount")
			if err != nil {
				t.Fatal(err)
			}
			n.give(func(d *decide.Desired) { d.Fenced = true })
			wait(t, "in use", func() bool { return n.state().ErrorClass == decide.InUse })
			settle()
			if n.role() != drbd.Primary {
				t.Fatalf("role is %s while the device is open", n.role())
			}
			done()
			wait(t, "Secondary", func() bool { return n.role() == drbd.Secondary && n.state().Error == "" })
			settle()
			if n.role() != drbd.Secondary {
				t.Errorf("a fenced node became %s again", n.role())
			}
		})
	})
}

func TestAReleaseWaitsForADeviceInUse(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			p.inUse()
			n := p.nodes[0]
			done, err := n.DRBD.Open(10000, "mount")
			if err != nil {
				t.Fatal(err)
			}
			b := *n.order.Resources[0].Devices[0].Backing
			n.give(func(d *decide.Desired) {
				d.Resources = nil
				d.Releases = []decide.Release{{
					Reservation: b.Reservation, Volume: "db", Resource: resource, ReplicaUID: "uid-0",
					VG: b.VG, VGUUID: b.VGUUID, ThinPool: b.ThinPool, LV: b.LV, LVUUID: b.LVUUID,
				}}
			})
			wait(t, "in use", func() bool { return n.state().ErrorClass == decide.InUse })
			settle()
			if n.disk() != drbd.UpToDate || n.ran("lvremove") > 0 {
				t.Fatal("something was taken away while the device was open")
			}
			done()
			wait(t, "released", func() bool { _, released := n.engine.States(); return len(released) == 1 })
		})
	})
}

func TestOnHoldNothingIsTakenAwayOrDemoted(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		p.inUse()
		n := p.nodes[0]
		b := *n.order.Resources[0].Devices[0].Backing
		file := n.ran("adjust")
		n.give(func(d *decide.Desired) {
			d.Hold = true
			d.Order.Incarnation++
			d.Resources[0].Primary = false
			d.Resources[0].Peers = nil // an older state of things
			d.Releases = []decide.Release{{
				Reservation: b.Reservation, Volume: "db", Resource: resource, ReplicaUID: "uid-0",
				VG: b.VG, VGUUID: b.VGUUID, ThinPool: b.ThinPool, LV: b.LV, LVUUID: b.LVUUID,
			}}
		})
		settle()
		if n.role() != drbd.Primary || !n.connected() || n.ran("lvremove") > 0 || n.ran("adjust") != file {
			t.Errorf("role %s, connected %v, %d lvremove", n.role(), n.connected(), n.ran("lvremove"))
		}
	})
}

func TestADiskThatWasReplacedIsNeitherUsedNorRemoved(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			p.inUse()
			n := p.nodes[1]
			n.stop()
			if err := drbd.New(n.DRBD.Run, v).Down(t.Context(), resource); err != nil {
				t.Fatal(err)
			}
			lv := n.lvs()[0]
			tool := lvm.New(n.LVM.Run)
			if err := tool.LVRemove(t.Context(), lv.VG, lv.Name, lv.UUID); err != nil {
				t.Fatal(err)
			}
			if err := tool.ThinCreate(t.Context(), "tp", lvm.LVSpec{VG: lv.VG, Name: lv.Name, Size: lv.Size, Tags: lv.Tags}); err != nil {
				t.Fatal(err)
			}
			made := n.ran("create-md")
			n.start()
			n.again()
			wait(t, "foreign", func() bool { s := n.state(); return s.ErrorClass == decide.Foreign && s.Definite })
			settle()
			if n.ran("create-md") != made || n.disk() != "" {
				t.Error("the other disk was used")
			}
			p.order(n)
			settle()
			if len(n.lvs()) != 1 || n.state().ErrorClass != decide.Foreign {
				t.Errorf("released: %v, %+v", n.lvs(), n.state())
			}
		})
	})
}

// order releases the node's replica without waiting.
func (p *pair) order(n *node) {
	p.Helper()
	b := *n.order.Resources[0].Devices[0].Backing
	n.give(func(d *decide.Desired) {
		d.Resources = nil
		d.Releases = []decide.Release{{
			Reservation: b.Reservation, Volume: "db", Resource: resource, ReplicaUID: "uid-1",
			VG: b.VG, VGUUID: b.VGUUID, ThinPool: b.ThinPool, LV: b.LV, LVUUID: b.LVUUID,
		}}
	})
}

// lvs are the node's volumes that bear our kind of name.
func (n *node) lvs() []lvm.LV {
	n.t.Helper()
	r, err := lvm.New(n.LVM.Run).Report(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	var ours []lvm.LV
	for _, lv := range r.LVs {
		if strings.HasPrefix(lv.Name, "rvol-") {
			ours = append(ours, lv)
		}
	}
	return ours
}

func TestAForeignVolumeOfThatNameStopsCreationAndIsKept(t *testing.T) {
	world(t, drbdtest.V9, func(t *testing.T, p *pair) {
		n := p.nodes[0]
		n.start()
		if err := n.LVM.AddForeign("vg0", "rvol-db.0.0", 32*mib); err != nil {
			t.Fatal(err)
		}
		r := n.replica(0, false)
		n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{r} })
		wait(t, "foreign", func() bool { s := n.state(); return s.ErrorClass == decide.Foreign && s.Definite })
		b := r.Devices[0].Backing
		n.give(func(d *decide.Desired) {
			d.Resources = nil
			d.Releases = []decide.Release{{
				Reservation: b.Reservation, Volume: "db", Resource: resource, ReplicaUID: "uid-0", VG: b.VG, VGUUID: b.VGUUID, LV: b.LV,
			}}
		})
		wait(t, "released: nothing of ours was ever there", func() bool { _, released := n.engine.States(); return len(released) == 1 })
		if len(n.lvs()) != 1 || n.ran("lvremove") > 0 {
			t.Errorf("left: %v", n.lvs())
		}
	})
}

func TestAFormationThatStartsAgainReplacesTheReplica(t *testing.T) {
	versions(t, func(t *testing.T, v drbd.Version) {
		world(t, v, func(t *testing.T, p *pair) {
			n := p.nodes[0]
			n.start()
			first := n.replica(0, true)
			n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{first} })
			wait(t, "preconfigured", func() bool { return n.state().Preconfigured })
			second := n.replica(1, true)
			second.ReplicaUID, second.Devices[0].Minor = "uid-again", 10001
			b := first.Devices[0].Backing
			n.give(func(d *decide.Desired) {
				d.Resources = []decide.Resource{second}
				d.Releases = []decide.Release{{
					Reservation: b.Reservation, Volume: "db", Resource: resource,
					VG: b.VG, VGUUID: b.VGUUID, ThinPool: b.ThinPool, LV: b.LV, LVUUID: n.state().Backing[0].LVUUID,
				}}
			})
			wait(t, "the second", func() bool {
				states, released := n.engine.States()
				return len(released) == 1 && len(states) == 1 && states[0].ReplicaUID == "uid-again" && states[0].Preconfigured
			})
			if len(n.lvs()) != 1 || n.lvs()[0].Name != "rvol-db.0.1" {
				t.Errorf("left: %v", n.lvs())
			}
		})
	})
}
