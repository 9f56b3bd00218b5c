package drbdtest

import (
	"rvol/drbd"
)

var failureBehaviours = []behaviour{
	{says: "a Primary that lost power is replaced, returns and resyncs", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.write(0, 1)
		a.write(8<<20, 2)
		a.PowerOff(s.T)
		b.lonely()
		b.primary()
		b.reads(0, 1)
		b.reads(8<<20, 2)
		b.write(16<<20, 3)
		a.PowerOn(s.T)
		a.up()
		a.upToDate()
		b.upToDate()
		if r := a.status(); r.Role != drbd.Secondary {
			s.Errorf("came back as %s", r.Role)
		}
		b.secondary()
		a.primary()
		a.reads(0, 1)
		a.reads(8<<20, 2)
		a.reads(16<<20, 3)
	}},
	{says: "a Secondary that was away gets what it missed, and no more", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.write(0, 1)
		b.PowerOff(s.T)
		a.lonely()
		a.write(4096, 2)
		r := a.status()
		if missed := r.Peers[0].Devices[0].OutOfSync; missed == 0 || missed > 8<<20 {
			s.Errorf("%d bytes out of sync after one block", missed)
		}
		b.PowerOn(s.T)
		b.up()
		a.upToDate()
		b.upToDate()
		a.secondary()
		b.primary()
		b.reads(0, 1)
		b.reads(4096, 2)
	}},
	{says: "8.4: whoever was filled may tell so anew: a source that has missed it hears it, and nobody else minds", only: 84, play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		for mark := range byte(5) {
			s.ok(a.tool.Disconnect(s.Context(), a.ref, 1))
			a.write(int64(mark)<<20, mark+1)
			s.ok(a.tool.Connect(s.Context(), a.ref, 1))
			b.upToDate()
			s.ok(b.tool.TellPeer(s.Context(), s.minor))
			a.sees(drbd.UpToDate, drbd.Established, drbd.UpToDate)
			s.ok(b.tool.TellPeer(s.Context(), s.minor))
			b.sees(drbd.UpToDate, drbd.Established, drbd.UpToDate)
			a.serves()
		}
	}},
	{says: "a cut link is noticed and heals", play: func(s *stage) {
		a, b := s.formed()
		s.world.Cut(s.T, a.Machine, b.Machine)
		a.lonely()
		b.lonely()
		s.world.Heal(s.T)
		a.upToDate()
		b.upToDate()
	}},
	{says: "a write waits for a peer that is cut off until it is given up", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		s.world.Cut(s.T, a.Machine, b.Machine)
		a.write(0, 7)
		a.lonely()
		s.world.Heal(s.T)
		a.upToDate()
		b.upToDate()
		a.secondary()
		b.primary()
		b.reads(0, 7)
	}},
	{says: "two that both went on alone do not meet again by themselves", play: func(s *stage) {
		a, b := s.formed()
		s.world.Cut(s.T, a.Machine, b.Machine)
		for mark, x := range []*actor{a, b} {
			x.lonely()
			x.primary()
			x.write(0, byte(mark+1))
			x.secondary()
		}
		s.world.Heal(s.T)
		a.standsAlone()
		b.standsAlone()
	}},
	{says: "of two that both went on alone, the one that gives up takes what the other wrote", play: func(s *stage) {
		a, b := s.formed()
		s.world.Cut(s.T, a.Machine, b.Machine)
		for mark, x := range []*actor{a, b} {
			x.lonely()
			x.primary()
			x.write(0, byte(mark+1))
			x.write(int64(mark+1)<<20, byte(mark+1))
			x.secondary()
		}
		s.world.Heal(s.T)
		a.standsAlone()
		b.standsAlone()
		s.ok(b.tool.ConnectDiscarding(s.Context(), b.ref, 0))
		s.ok(a.tool.Connect(s.Context(), a.ref, 1))
		a.upToDate()
		b.upToDate()
		b.primary()
		b.reads(0, 1)
		b.reads(1<<20, 1)
		b.reads(2<<20, 0)
	}},
	{says: "a peer disconnected on purpose stays so until it is connected again", play: func(s *stage) {
		a, b := s.formed()
		s.ok(a.tool.Disconnect(s.Context(), a.ref, 1))
		a.standsAlone()
		b.lonely()
		if a.Version().Is84() {
			s.refused(a.tool.Disconnect(s.Context(), a.ref, 1), drbd.ErrNoConnection)
		}
		s.ok(a.tool.Connect(s.Context(), a.ref, 1))
		a.upToDate()
		b.upToDate()
		again := drbd.ErrAlreadyConnected
		if a.Version().Is84() {
			again = drbd.ErrAddressInUse
		}
		s.refused(a.tool.Connect(s.Context(), a.ref, 1), again)
	}},
	{says: "9: without a majority there is no Primary, with one there is", only: 9, play: func(s *stage) {
		a, b, c := s.actors[0], s.actors[1], s.actors[2]
		s.prepare(a, b, c)
		s.file(drbd.Options{Quorum: 2, QuorumMinimumRedundancy: 1, OnNoQuorum: drbd.IOError}, a, b, c)
		for _, x := range s.actors {
			x.up()
		}
		a.becomes("connected to all", func(r drbd.Resource) bool {
			return len(r.Peers) == 2 && r.Peers[0].Conn == drbd.Connected && r.Peers[1].Conn == drbd.Connected
		})
		s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync))
		for _, x := range s.actors {
			x.upToDate()
		}
		a.primary()
		a.write(0, 1)
		c.PowerOff(s.T)
		a.becomes("without c", func(r drbd.Resource) bool { return r.Peers[1].Conn != drbd.Connected })
		a.write(4096, 2)
		s.world.Cut(s.T, a.Machine, b.Machine)
		b.lonely()
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNoQuorum)
		a.becomes("without quorum", func(r drbd.Resource) bool { return !r.Devices[0].Quorum })
		if err := a.Write(s.Context(), s.minor, 0, block(9)); err == nil {
			s.Error("written without quorum")
		}
		s.world.Heal(s.T)
		a.becomes("with quorum", func(r drbd.Resource) bool { return r.Devices[0].Quorum })
		c.PowerOn(s.T)
		c.up()
		c.upToDate()
		a.upToDate()
		a.secondary()
		c.primary()
		c.reads(4096, 2)
	}},
}
