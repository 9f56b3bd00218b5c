package drbdtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rvol/drbd"
)

// fenceFile is what the suite's helper runs: one line, "exit CODE".
const fenceFile = "/etc/drbd.d/suite.fence"

// fenced is two actors that are UpToDate and freeze without each other.
func (s *stage) fenced() (a, b *actor) {
	s.Helper()
	a, b = s.formed()
	s.file(drbd.Options{FencePeer: "/bin/sh " + fenceFile}, a, b)
	for _, x := range []*actor{a, b} {
		s.ok(x.tool.Adjust(s.Context(), x.ref))
		x.answers(1)
	}
	return a, b
}

// answers is what the node's helper says from here on.
func (a *actor) answers(code int) {
	a.Helper()
	a.WriteFile(a.T, fenceFile, fmt.Appendf(nil, "exit %d\n", code))
}

func (a *actor) frozen() {
	a.Helper()
	a.becomes("frozen", func(r drbd.Resource) bool { return r.Suspended.Fencing || r.Suspended.NoData })
}

func (a *actor) serves() {
	a.Helper()
	a.becomes("serving", func(r drbd.Resource) bool { return !r.Suspended.Any() })
}

// begins writes what will only be acknowledged later; end wants that it was.
func (a *actor) begins(off int64, mark byte) (acknowledged func() bool, end func()) {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.Context()), 10*time.Minute)
	done := make(chan error, 1)
	go func() { done <- a.Write(ctx, a.minor, off, block(mark)) }()
	var err error
	ended := false
	acknowledged = func() bool {
		select {
		case err = <-done:
			ended = true
		default:
		}
		return ended
	}
	return acknowledged, func() {
		a.Helper()
		a.world.Eventually(a.T, "the write returns", func() error {
			if acknowledged() {
				return nil
			}
			return fmt.Errorf("it waits")
		})
		cancel()
		a.ok(err)
	}
}

// cutFrozen cuts a Primary, which writes meanwhile, from its peer, and waits
// until it has frozen. The write was not acknowledged.
func (s *stage) cutFrozen(a, b *actor, off int64, mark byte) (end func()) {
	s.Helper()
	s.world.Cut(s.T, a.Machine, b.Machine)
	acknowledged, end := a.begins(off, mark)
	a.frozen()
	b.lonely()
	if acknowledged() {
		s.Fatal("a write was acknowledged by a Primary that had lost its peer")
	}
	return end
}

var fencingBehaviours = []behaviour{
	{says: "8.4: a Primary that loses its peer freezes until somebody resumes I/O", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		a.write(0, 1)
		end := s.cutFrozen(a, b, 4096, 2)
		s.ok(a.tool.ResumeIO(s.Context(), s.minor))
		end()
		a.serves()
		a.write(8192, 3)
		s.world.Heal(s.T)
		a.upToDate()
		b.upToDate()
		a.secondary()
		b.primary()
		b.reads(0, 1)
		b.reads(4096, 2)
		b.reads(8192, 3)
	}},
	{says: "8.4: two that lost power at once are UpToDate when they meet", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		a.write(0, 1)
		a.PowerOff(s.T)
		b.PowerOff(s.T)
		a.PowerOn(s.T)
		b.PowerOn(s.T)
		a.up()
		b.up()
		a.upToDate()
		b.upToDate()
		b.primary()
		b.reads(0, 1)
	}},
	{says: "8.4: a frozen Primary goes on when its peer is back, which gets what was under way", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		end := s.cutFrozen(a, b, 0, 1)
		s.world.Heal(s.T)
		end()
		a.serves()
		a.upToDate()
		a.secondary()
		b.primary()
		b.reads(0, 1)
	}},
	{says: "8.4: of the helper's answers, 3, 4, 5 and 7 let a Primary go on; 6, 1 and 0 do not", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		for i, c := range []struct {
			code int
			goes bool
		}{{3, true}, {4, true}, {5, true}, {7, true}, {6, false}, {1, false}, {0, false}} {
			a.answers(c.code)
			off := int64(i+1) * 4096
			s.world.Cut(s.T, a.Machine, b.Machine)
			_, end := a.begins(off, byte(c.code+1))
			if c.goes {
				end()
				a.serves()
			} else {
				a.frozen()
			}
			a.lonely()
			s.world.Heal(s.T)
			a.upToDate()
			b.upToDate()
			end()
			a.reads(off, byte(c.code+1))
		}
	}},
	{says: "8.4: a Secondary without its peer becomes Primary on answer 4 alone", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		a.write(0, 1)
		s.world.Cut(s.T, a.Machine, b.Machine)
		b.lonely()
		b.answers(1)
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNotFenced)
		b.answers(4)
		b.primary()
		b.reads(0, 1)
	}},
	{says: "8.4: a Secondary whose file names no peer any more becomes Primary, and nobody is asked", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		a.write(0, 1)
		a.secondary()
		s.ok(b.tool.Disconnect(s.Context(), b.ref, 0))
		a.lonely()
		s.refused(a.tool.Primary(s.Context(), a.ref), drbd.ErrNotFenced)
		s.file(drbd.Options{}, a)
		s.ok(a.tool.Adjust(s.Context(), a.ref))
		a.primary()
		a.reads(0, 1)
		a.write(4096, 2)
	}},
	{says: "8.4: a Secondary that is told of a Primary outdates itself", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		s.world.Cut(s.T, a.Machine, b.Machine)
		b.lonely()
		b.answers(6)
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNoUpToDate)
		b.becomes("Outdated", func(r drbd.Resource) bool { return r.Devices[0].Disk == drbd.Outdated })
		b.answers(4)
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNoUpToDate)
		s.world.Heal(s.T)
		b.upToDate()
	}},
	{says: "8.4: after loss of power a disk is Consistent until its peer or its helper says more", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		a.write(0, 1)
		a.PowerOff(s.T)
		b.lonely()
		b.PowerOff(s.T)
		b.PowerOn(s.T)
		b.answers(1)
		b.up()
		b.becomes("Consistent", func(r drbd.Resource) bool { return r.Devices[0].Disk == drbd.Consistent })
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNoUpToDate)
		b.answers(4)
		b.primary()
		b.reads(0, 1)
		a.PowerOn(s.T)
		a.up()
		a.upToDate()
	}},
	{says: "8.4: a Secondary that leaves in good order is outdated, and its Primary goes on", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		s.ok(b.tool.Disconnect(s.Context(), b.ref, 0))
		a.lonely()
		a.serves()
		a.write(0, 1)
		b.becomes("Outdated", func(r drbd.Resource) bool { return r.Devices[0].Disk == drbd.Outdated })
		s.refused(b.tool.Primary(s.Context(), b.ref), drbd.ErrNoUpToDate)
		s.ok(b.tool.Connect(s.Context(), b.ref, 0))
		a.upToDate()
		b.upToDate()
	}},
	{says: "8.4: a frozen Primary whose peer took over meanwhile stays frozen, and the two do not meet", only: 84, play: func(s *stage) {
		a, b := s.fenced()
		a.primary()
		a.write(0, 1)
		s.world.Cut(s.T, a.Machine, b.Machine)
		a.frozenWhenNoticed()
		b.lonely()
		b.answers(4)
		b.primary()
		b.write(4096, 2)
		s.world.Heal(s.T)
		s.oneGivesUp(a, b)
		if r := a.status(); !r.Suspended.Any() || r.Role != drbd.Primary {
			s.Errorf("it is %s, suspended %+v", r.Role, r.Suspended)
		}
		a.secondary()
		for _, x := range []*actor{a, b} {
			if x.gaveUp() {
				s.ok(x.tool.Connect(s.Context(), x.ref, 0))
			}
		}
		a.upToDate()
		b.upToDate()
		a.serves()
		b.secondary()
		a.primary()
		a.reads(0, 1)
		a.reads(4096, 2)
	}},
}

// oneGivesUp waits until an end is StandAlone: which one sees first that both are Primary
// is a race, and the other may go on trying.
func (s *stage) oneGivesUp(ends ...*actor) {
	s.Helper()
	s.world.Eventually(s.T, "one end is StandAlone", func() error {
		for _, x := range ends {
			if x.gaveUp() {
				return nil
			}
		}
		return errors.New("both go on trying")
	})
}

func (a *actor) gaveUp() bool {
	a.Helper()
	r := a.status()
	return len(r.Peers) == 0 || r.Peers[0].Conn == drbd.StandAlone
}

// frozenWhenNoticed waits for an idle Primary, which notices by its pings.
func (a *actor) frozenWhenNoticed() {
	a.Helper()
	a.lonely()
	a.frozen()
}
