package drbdtest

import (
	"fmt"

	"rvol/drbd"
)

// differing is two actors that are UpToDate, the second of which has lost a block without
// knowing; a verify has found it. The first says what it has.
func (s *stage) differing(a, b *actor) {
	s.Helper()
	a.primary()
	a.write(0, 1)
	a.write(8<<20, 2)
	a.secondary()
	b.Corrupt(s.T, b.disk, 8<<20, block(9))
	s.finds(a, 1, 4096)
}

// finds verifies, until the events say that it is over.
func (s *stage) finds(a *actor, peer drbd.NodeID, want int64) {
	s.Helper()
	followed := follow(s, a)
	s.ok(a.tool.Verify(s.Context(), a.ref, peer, 0))
	pair := drbd.Pair{Peer: peer, Volume: 0}
	if a.Version().Is84() {
		pair.Peer = 0
	}
	s.world.Eventually(s.T, "the verify ends", func() error {
		if c := followed.past(s.resource)[pair]; c.Verified != 1 || c.BrokenOff != 0 {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	a.upToDate()
	if got := a.status().Peers[0].Devices[0].OutOfSync; got != want {
		s.Errorf("%d bytes found, want %d", got, want)
	}
}

// mended wants both to have what the first has, and no more to find.
func (s *stage) mended(a, b *actor) {
	s.Helper()
	a.upToDate()
	for _, x := range []*actor{a, b} {
		x.becomes("UpToDate, and nothing out of sync", func(r drbd.Resource) bool {
			if len(r.Peers) == 0 || len(r.Peers[0].Devices) == 0 {
				return false
			}
			d := r.Peers[0].Devices[0]
			return r.Devices[0].Disk == drbd.UpToDate && d.Disk == drbd.UpToDate && d.Repl == drbd.Established && d.OutOfSync == 0
		})
	}
	if a.status().Role == drbd.Primary {
		a.secondary()
	}
	b.primary()
	b.reads(0, 1)
	b.reads(8<<20, 2)
	b.secondary()
	s.finds(a, 1, 0)
}

var repairBehaviours = []behaviour{
	{says: "8.4: what a verify found is copied from the Secondary that begins a new generation", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		s.differing(a, b)
		s.ok(a.tool.Disconnect(s.Context(), a.ref, 1))
		gi, err := a.tool.Generations(s.Context(), a.ref, 1, 0)
		s.ok(err)
		if gi.Bitmap != 0 {
			s.Errorf("a Secondary began a generation by itself: %+v", gi)
		}
		s.ok(a.tool.NewGeneration(s.Context(), s.minor))
		s.ok(a.tool.Connect(s.Context(), a.ref, 1))
		s.mended(a, b)
	}},
	{says: "8.4: what a verify found is copied from a Primary that parts from its peer for a moment", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		s.differing(a, b)
		a.primary()
		s.ok(a.tool.Disconnect(s.Context(), a.ref, 1))
		a.serves()
		gi, err := a.tool.Generations(s.Context(), a.ref, 1, 0)
		s.ok(err)
		if gi.Bitmap == 0 {
			s.Errorf("a Primary did not begin a generation: %+v", gi)
		}
		s.ok(a.tool.Connect(s.Context(), a.ref, 1))
		s.mended(a, b)
	}},
	{says: "8.4: without a new generation nothing is copied, and what a verify found stays so", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		s.differing(a, b)
		s.ok(a.tool.Disconnect(s.Context(), a.ref, 1))
		s.ok(a.tool.Connect(s.Context(), a.ref, 1))
		b.upToDate()
		a.upToDate()
		b.primary()
		b.reads(8<<20, 9)
	}},
	{says: "9: what a verify found is copied from the peer that is named", only: 9, play: func(s *stage) {
		a, b := s.formed()
		s.differing(a, b)
		s.ok(b.tool.RepairFrom(s.Context(), s.minor, 0))
		s.mended(a, b)
	}},
	{says: "a copy that is old may be taken as good, and is then refused by the one that was better", play: func(s *stage) {
		a, b := s.formed()
		if a.Version().Is84() {
			s.file(drbd.Options{FencePeer: "/bin/sh " + fenceFile}, a, b)
			for _, x := range []*actor{a, b} {
				s.ok(x.tool.Adjust(s.Context(), x.ref))
				x.answers(1)
			}
		}
		a.primary()
		a.write(0, 1)
		s.ok(b.tool.Disconnect(s.Context(), b.ref, 0))
		b.becomes("Outdated", func(r drbd.Resource) bool { return r.Devices[0].Disk == drbd.Outdated })
		a.write(4096, 2)
		a.PowerOff(s.T)
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNoUpToDate)
		s.ok(b.tool.ForcePrimary(s.Context(), b.ref))
		b.becomes("UpToDate Primary", func(r drbd.Resource) bool { return r.Devices[0].Disk == drbd.UpToDate && r.Role == drbd.Primary })
		b.reads(0, 1)
		b.reads(4096, 0)
		b.write(8192, 3)
		b.secondary()
		a.PowerOn(s.T)
		a.up()
		s.ok(b.tool.Connect(s.Context(), b.ref, 0))
		a.standsAlone()
		b.standsAlone()
		one, err := a.tool.Generations(s.Context(), a.ref, 1, 0)
		s.ok(err)
		two, err := b.tool.Generations(s.Context(), b.ref, 0, 0)
		s.ok(err)
		if !one.Apart(two) {
			s.Errorf("not apart: %+v and %+v", one, two)
		}
	}},
}
