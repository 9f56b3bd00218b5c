package drbdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"rvol/drbd"
)

// Suite is the behaviours of DRBD that the project relies on. within gives a
// behaviour its world: a new one each, or one for all.
func Suite(t *testing.T, within func(t *testing.T, behaviour func(*testing.T, World))) {
	t.Helper()
	var number atomic.Int32
	for _, b := range behaviours {
		t.Run(b.says, func(t *testing.T) {
			within(t, func(t *testing.T, w World) {
				v := w.Nodes()[0].Version()
				if b.only != 0 && (b.only == 84) != v.Is84() {
					return
				}
				s := newStage(t, w, int(number.Add(1)))
				defer s.strike()
				b.play(s)
			})
		})
	}
}

// behaviour is one sentence and its proof.
type behaviour struct {
	says string
	only int // 84 or 9; 0: both
	play func(*stage)
}

// behaviours are listed by subject.
var behaviours = concat(formationBehaviours, roleBehaviours, failureBehaviours, changeBehaviours, repairBehaviours, fencingBehaviours)

func concat(lists ...[]behaviour) []behaviour {
	var all []behaviour
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

const (
	diskSize = 64 << 20
	resFile  = "/etc/drbd.d/"
)

// stage is one resource on the nodes of a world.
type stage struct {
	*testing.T
	world    World
	resource string
	minor    drbd.Minor
	port     uint16
	actors   []*actor
}

// actor is a node and its tool.
type actor struct {
	Machine
	*stage
	tool *drbd.Tool
	ref  drbd.Ref
	disk string
}

func newStage(t *testing.T, w World, n int) *stage {
	t.Helper()
	s := &stage{T: t, world: w, resource: fmt.Sprintf("suite-%d", n), minor: drbd.Minor(500 + n), port: uint16(17500 + n)}
	for _, m := range w.Nodes()[:3] {
		s.actors = append(s.actors, &actor{
			Machine: m, stage: s, tool: drbd.New(m.Run, m.Version()),
			ref: drbd.Ref{Name: s.resource, File: resFile + s.resource + ".res", Minors: []drbd.Minor{s.minor}},
		})
	}
	return s
}

// strike takes down what a test left up.
func (s *stage) strike() {
	s.world.Heal(s.T)
	for _, a := range s.actors {
		if err := a.tool.Down(context.WithoutCancel(s.Context()), s.resource); err != nil {
			s.Logf("down on %s: %v", a.Name(), err)
		}
	}
}

// file writes the resource's file on each of the actors.
func (s *stage) file(options drbd.Options, actors ...*actor) {
	s.Helper()
	options.HMACAlg, options.VerifyAlg = "sha256", "crc32c"
	options.Tuning = drbd.Tuning{ // quick, so that real nodes do not take long
		Timeout: 900 * time.Millisecond, PingInterval: time.Second, PingTimeout: 500 * time.Millisecond,
		ConnectInterval: time.Second, ResyncRate: 100 << 20,
	}
	var hosts []drbd.Host
	for i, a := range actors {
		hosts = append(hosts, drbd.Host{
			Name: a.Name(), NodeID: drbd.NodeID(i), Addresses: []netip.AddrPort{netip.AddrPortFrom(a.Address(), s.port)},
		})
	}
	for _, a := range actors {
		c := drbd.Config{
			Resource: s.resource, This: a.Name(), Hosts: hosts, Secret: "suite", Options: options,
			Volumes: []drbd.Volume{{Minor: s.minor, Disk: a.disk}},
		}
		text, err := c.Render(a.Version())
		s.ok(err)
		a.WriteFile(s.T, a.ref.File, text)
		a.ref.Alone = len(actors) == 1
		s.ok(a.tool.Check(s.Context(), a.ref))
	}
}

// prepare gives each actor a disk with new metadata, and all their files.
func (s *stage) prepare(actors ...*actor) {
	s.Helper()
	for _, a := range actors {
		a.disk = a.NewDisk(s.T, s.resource, diskSize)
		s.ok(a.tool.CreateMD(s.Context(), a.meta(), drbd.MaxPeers))
	}
	s.file(drbd.Options{}, actors...)
}

// connected brings two actors up and waits until they see each other.
func (s *stage) connected() (a, b *actor) {
	s.Helper()
	a, b = s.actors[0], s.actors[1]
	s.prepare(a, b)
	a.up()
	b.up()
	a.sees(drbd.Inconsistent, drbd.Established, drbd.Inconsistent)
	b.sees(drbd.Inconsistent, drbd.Established, drbd.Inconsistent)
	return a, b
}

// formed is two actors that are UpToDate.
func (s *stage) formed() (a, b *actor) {
	s.Helper()
	a, b = s.connected()
	s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync))
	a.upToDate()
	b.upToDate()
	return a, b
}

func (s *stage) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// refused wants an error of a kind.
func (s *stage) refused(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("got %v, want: %v", err, want)
	}
}

func (a *actor) meta() drbd.MetaDev { return drbd.MetaDev{Minor: a.minor, Disk: a.disk} }

func (a *actor) up() {
	a.Helper()
	a.ok(a.tool.Up(a.Context(), a.ref))
}

func (a *actor) primary() {
	a.Helper()
	a.ok(a.tool.Primary(a.Context(), a.ref))
}

func (a *actor) secondary() {
	a.Helper()
	a.ok(a.tool.Secondary(a.Context(), a.ref))
}

func (a *actor) status() drbd.Resource {
	a.Helper()
	r, err := a.tool.Status(a.Context(), a.resource)
	a.ok(err)
	return r
}

// becomes waits until the resource is as wanted.
func (a *actor) becomes(what string, is func(drbd.Resource) bool) {
	a.Helper()
	a.world.Eventually(a.T, what+" on "+a.Name(), func() error {
		r, err := a.tool.Status(a.Context(), a.resource)
		if err == nil && !is(r) {
			err = fmt.Errorf("not %s: %+v", what, r)
		}
		return err
	})
}

// sees waits for one peer that stands so.
func (a *actor) sees(disk drbd.DiskState, repl drbd.ReplState, peer drbd.DiskState) {
	a.Helper()
	a.becomes(fmt.Sprintf("%s, %s, peer %s", disk, repl, peer), func(r drbd.Resource) bool {
		return r.Devices[0].Disk == disk && len(r.Peers) > 0 && len(r.Peers[0].Devices) > 0 &&
			r.Peers[0].Devices[0].Repl == repl && r.Peers[0].Devices[0].Disk == peer
	})
}

// upToDate waits until both disks are. DRBD 8.4 does not always notice the end of a resync of a few blocks: the target's word that it is
// done can overtake its last acknowledgement. Then the source is SyncSource for ever with nothing to copy, and has to be told anew.
func (a *actor) upToDate() {
	a.Helper()
	stuck := 0
	a.becomes("UpToDate, Established, peer UpToDate", func(r drbd.Resource) bool {
		if len(r.Peers) == 0 || len(r.Peers[0].Devices) == 0 {
			return false
		}
		peer := r.Peers[0].Devices[0]
		if peer.Repl != drbd.SyncSource || peer.OutOfSync != 0 {
			stuck = 0
		} else if stuck++; stuck == stuckLooks && a.Version().Is84() {
			a.Log("the resync is over and DRBD has not noticed")
			a.ok(a.peer().tool.TellPeer(a.Context(), a.minor))
		}
		return r.Devices[0].Disk == drbd.UpToDate && peer.Repl == drbd.Established && peer.Disk == drbd.UpToDate
	})
}

// peer is the other one of two.
func (a *actor) peer() *actor {
	if a.actors[0] == a {
		return a.actors[1]
	}
	return a.actors[0]
}

// stuckLooks is how often in a row a resync must be seen without anything to copy before it is stuck.
const stuckLooks = 30

// lonely waits until no peer is connected.
func (a *actor) lonely() {
	a.Helper()
	a.becomes("not connected", func(r drbd.Resource) bool {
		for _, p := range r.Peers {
			if p.Conn == drbd.Connected {
				return false
			}
		}
		return true
	})
}

// standsAlone waits until the connection is given up; DRBD 8.4 shows none.
func (a *actor) standsAlone() {
	a.Helper()
	a.becomes("StandAlone", func(r drbd.Resource) bool {
		for _, p := range r.Peers {
			if p.Conn != drbd.StandAlone {
				return false
			}
		}
		return true
	})
}

// block is 4 KiB that can be told from others.
func block(mark byte) []byte { return bytes.Repeat([]byte{mark}, 4096) }

func (a *actor) write(off int64, mark byte) {
	a.Helper()
	a.ok(a.Write(a.Context(), a.minor, off, block(mark)))
}

func (a *actor) reads(off int64, mark byte) {
	a.Helper()
	got, err := a.Read(a.Context(), a.minor, off, 4096)
	a.ok(err)
	if !bytes.Equal(got, block(mark)) {
		a.Fatalf("at %d on %s: got %d.., want %d", off, a.Name(), got[0], mark)
	}
}
