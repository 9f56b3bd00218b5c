package drbdtest

import (
	"strings"

	"rvol/drbd"
)

var roleBehaviours = []behaviour{
	{says: "one Primary at a time", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.primary()
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrOtherPrimary)
		b.becomes("aware of the Primary", func(r drbd.Resource) bool { return r.Peers[0].Role == drbd.Primary })
		a.secondary()
		b.primary()
	}},
	{says: "a device held open keeps its role and stays up", play: func(s *stage) {
		a, _ := s.formed()
		a.primary()
		release := a.Hold(s.T, s.minor)
		err := a.tool.Secondary(s.Context(), a.ref)
		s.refused(err, drbd.ErrHeldOpen)
		if who := drbd.Openers(err); !a.Version().Is84() && (len(who) != 1 || !strings.HasPrefix(who[0].Device, "drbd")) {
			s.Errorf("openers %+v of %v", who, err)
		}
		s.refused(a.tool.Down(s.Context(), s.resource), drbd.ErrHeldOpen)
		release()
		a.secondary()
	}},
	{says: "a Secondary is not written to", play: func(s *stage) {
		_, b := s.formed()
		if err := b.Write(s.Context(), s.minor, 0, block(1)); err == nil {
			s.Error("written")
		}
	}},
	{says: "what was written on one node is read on the other", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.write(0, 1)
		a.write(40<<20, 2)
		a.secondary()
		b.primary()
		b.reads(0, 1)
		b.reads(40<<20, 2)
		b.reads(20<<20, 0)
	}},
	{says: "a Primary without disk reads and writes through its peer", play: func(s *stage) {
		a, _ := s.formed()
		a.primary()
		a.write(0, 1)
		s.ok(a.tool.Detach(s.Context(), s.minor))
		a.sees(drbd.Diskless, drbd.Established, drbd.UpToDate)
		a.reads(0, 1)
		a.write(4096, 2)
		s.ok(a.tool.Attach(s.Context(), a.ref, 0))
		a.upToDate()
		a.reads(4096, 2)
	}},
	{says: "8.4: the last good disk is not taken from under a Primary", only: 84, play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.write(0, 1)
		s.ok(b.tool.Detach(s.Context(), s.minor))
		a.sees(drbd.UpToDate, drbd.Established, drbd.Diskless)
		s.refused(a.tool.Detach(s.Context(), s.minor), drbd.ErrNoUpToDate)
		a.reads(0, 1)
	}},
	{says: "what is not up is refused by name", play: func(s *stage) {
		a := s.actors[0]
		s.refused(a.tool.Detach(s.Context(), 999), drbd.ErrUnknownMinor)
		s.refused(a.tool.Resize(s.Context(), 999), drbd.ErrUnknownMinor)
		if !a.Version().Is84() {
			s.refused(a.tool.Primary(s.Context(), drbd.Ref{Name: "nosuch"}), drbd.ErrUnknownResource)
			s.refused(a.tool.Connect(s.Context(), drbd.Ref{Name: "nosuch"}, 1), drbd.ErrUnknownResource)
		}
	}},
}
