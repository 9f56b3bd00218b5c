package drbdtest

import (
	"rvol/drbd"
)

var changeBehaviours = []behaviour{
	{says: "adjust has nothing to do when all is as the file says", play: func(s *stage) {
		a, _ := s.formed()
		plan, err := a.tool.DryAdjust(s.Context(), a.ref)
		s.ok(err)
		for _, c := range plan {
			if loss := c.Loss(nil); loss != "" {
				s.Errorf("%s: %s", c, loss)
			}
		}
		if has(plan, "attach") || has(plan, "new-minor") || has(plan, "connect") {
			s.Errorf("plan %v", plan)
		}
		s.ok(a.tool.Adjust(s.Context(), a.ref))
		a.upToDate()
	}},
	{says: "adjust brings up what is down", play: func(s *stage) {
		a, b := s.formed()
		s.ok(a.tool.Down(s.Context(), s.resource))
		plan, err := a.tool.DryAdjust(s.Context(), a.ref)
		s.ok(err)
		if !has(plan, "new-resource") || !has(plan, "attach") || !has(plan, "connect") {
			s.Errorf("plan %v", plan)
		}
		s.ok(a.tool.Adjust(s.Context(), a.ref))
		a.upToDate()
		b.upToDate()
	}},
	{says: "adjust attaches a disk that was detached", play: func(s *stage) {
		a, _ := s.formed()
		s.ok(a.tool.Detach(s.Context(), s.minor))
		a.sees(drbd.Diskless, drbd.Established, drbd.UpToDate)
		s.ok(a.tool.Adjust(s.Context(), a.ref))
		a.upToDate()
		s.refused(a.tool.Attach(s.Context(), a.ref, 0), drbd.ErrAlreadyAttached)
	}},
	{says: "9: adjust adds a third replica, and says before it removes one", only: 9, play: func(s *stage) {
		a, b := s.formed()
		c := s.actors[2]
		s.prepare(c)
		s.file(drbd.Options{}, a, b, c)
		for _, x := range s.actors {
			s.ok(x.tool.Adjust(s.Context(), x.ref))
		}
		c.becomes("UpToDate", func(r drbd.Resource) bool {
			return r.Devices[0].Disk == drbd.UpToDate && len(r.Peers) == 2
		})
		s.ok(c.tool.Down(s.Context(), s.resource))
		s.file(drbd.Options{}, a, b)
		plan, err := a.tool.DryAdjust(s.Context(), a.ref)
		s.ok(err)
		if !has(plan, "del-peer") {
			s.Errorf("plan %v", plan)
		}
		s.refused(a.tool.ForgetPeer(s.Context(), s.resource, 2), drbd.ErrAlreadyConnected)
		s.ok(a.tool.DelPeer(s.Context(), a.ref, 2))
		s.ok(a.tool.ForgetPeer(s.Context(), s.resource, 2))
		s.ok(a.tool.ForgetPeer(s.Context(), s.resource, 2))
	}},
	{says: "resize grows when all disks have grown", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.write(0, 1)
		before := a.status().Devices[0].Size
		a.Grow(s.T, a.disk, 2*diskSize)
		s.ok(a.tool.Resize(s.Context(), s.minor))
		if got := a.status().Devices[0].Size; got != before {
			s.Errorf("one disk grew: %d bytes, were %d", got, before)
		}
		b.Grow(s.T, b.disk, 2*diskSize)
		s.ok(a.tool.Resize(s.Context(), s.minor))
		b.becomes("larger", func(r drbd.Resource) bool {
			return r.Devices[0].Size == before+diskSize || r.Devices[0].Size > before+diskSize/2
		})
		a.upToDate()
		b.upToDate()
		a.reads(0, 1)
		a.write(before+4096, 2)
		a.secondary()
		s.ok(b.tool.Down(s.Context(), s.resource))
		b.up()
		b.upToDate()
		b.primary()
		b.reads(0, 1)
		b.reads(before+4096, 2)
	}},
	{says: "8.4: a survivor that holds its size meets one that comes back on a larger disk, and both grow when told to", only: 84, play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		size := s.apart(a, b)
		s.ok(a.tool.HoldSize(s.Context(), s.minor, size))
		s.together(a, b)
		for _, x := range []*actor{a, b} {
			if got := x.status().Devices[0].Size; got != size {
				s.Errorf("%s: %d bytes, were %d", x.Name(), got, size)
			}
		}
		s.ok(a.tool.Resize(s.Context(), s.minor))
		b.becomes("larger", func(r drbd.Resource) bool { return r.Devices[0].Size > size+diskSize/2 })
		a.upToDate()
		b.upToDate()
		a.write(size+4096, 4)
		a.secondary()
		b.primary()
		b.reads(4096, 2)
		b.reads(8192, 3)
		b.reads(size+4096, 4)
	}},
	{says: "8.4: a survivor that holds nothing takes another size than the one that comes back, until they meet again", only: 84, play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		size := s.apart(a, b)
		s.together(a, b)
		for _, x := range []*actor{a, b} {
			x.becomes("larger", func(r drbd.Resource) bool { return r.Devices[0].Size > size+diskSize/2 })
		}
	}},
	{says: "a detached disk gets what it missed", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		s.ok(b.tool.Detach(s.Context(), s.minor))
		a.sees(drbd.UpToDate, drbd.Established, drbd.Diskless)
		a.write(4<<20, 5)
		s.ok(b.tool.Attach(s.Context(), b.ref, 0))
		a.upToDate()
		b.upToDate()
		a.secondary()
		b.primary()
		b.reads(4<<20, 5)
	}},
	{says: "invalidate copies everything anew", play: func(s *stage) {
		a, b := s.formed()
		a.primary()
		a.write(0, 1)
		s.ok(b.tool.Invalidate(s.Context(), s.minor))
		b.upToDate()
		a.upToDate()
	}},
	{says: "verify of equal disks finds nothing", play: func(s *stage) {
		a, _ := s.formed()
		a.primary()
		a.write(0, 1)
		s.ok(a.tool.Verify(s.Context(), a.ref, 1, 0))
		a.upToDate()
		if r := a.status(); r.Peers[0].Devices[0].OutOfSync != 0 {
			s.Errorf("got %+v", r)
		}
	}},
}

// apart lets both disks grow and one node lose its power before DRBD has, while the other writes.
func (s *stage) apart(a, b *actor) (size int64) {
	s.Helper()
	a.write(0, 1)
	size = a.status().Devices[0].Size
	a.Grow(s.T, a.disk, 2*diskSize)
	b.Grow(s.T, b.disk, 2*diskSize)
	b.PowerOff(s.T)
	a.lonely()
	a.write(4096, 2)
	return size
}

// together brings it back, with its metadata at the end of its larger disk.
func (s *stage) together(a, b *actor) {
	s.Helper()
	b.PowerOn(s.T)
	s.ok(b.tool.CheckResize(s.Context(), b.meta()))
	b.up()
	a.upToDate()
	b.upToDate()
	a.write(8192, 3)
}
