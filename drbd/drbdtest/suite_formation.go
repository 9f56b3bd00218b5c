package drbdtest

import (
	"slices"

	"rvol/drbd"
)

var formationBehaviours = []behaviour{
	{says: "new metadata says just created and takes a device UUID", play: func(s *stage) {
		a := s.actors[0]
		a.disk = a.NewDisk(s.T, s.resource, diskSize)
		_, err := a.tool.DumpMD(s.Context(), a.meta())
		s.refused(err, drbd.ErrNoMetadata)
		s.ok(a.tool.CreateMD(s.Context(), a.meta(), drbd.MaxPeers))
		s.ok(a.tool.WriteDevUUID(s.Context(), a.meta(), 0xF00D))
		md, err := a.tool.DumpMD(s.Context(), a.meta())
		s.ok(err)
		device, err := a.tool.ReadDevUUID(s.Context(), a.meta())
		s.ok(err)
		if md.Current != drbd.JustCreated || md.Device != 0xF00D || device != 0xF00D {
			s.Errorf("got %+v, device %s", md, device)
		}
		s.ok(a.tool.WipeMD(s.Context(), a.meta()))
		_, err = a.tool.DumpMD(s.Context(), a.meta())
		s.refused(err, drbd.ErrNoMetadata)
		_, err = a.tool.ReadDevUUID(s.Context(), a.meta())
		s.refused(err, drbd.ErrNoMetadata)
	}},
	{says: "a disk without metadata is not attached", play: func(s *stage) {
		a, b := s.actors[0], s.actors[1]
		s.prepare(a, b)
		s.ok(a.tool.WipeMD(s.Context(), a.meta()))
		s.refused(a.tool.Up(s.Context(), a.ref), drbd.ErrNoMetadata)
		s.ok(a.tool.Down(s.Context(), s.resource))
	}},
	{says: "up alone connects, is Inconsistent and cannot be Primary", play: func(s *stage) {
		a, b := s.actors[0], s.actors[1]
		s.prepare(a, b)
		_, err := a.tool.Status(s.Context(), s.resource)
		s.refused(err, drbd.ErrUnknownResource)
		a.up()
		a.sees(drbd.Inconsistent, drbd.Off, drbd.DUnknown)
		r := a.status()
		peers := drbd.MaxPeers
		if a.Version().Is84() {
			peers = 1
		}
		if want := drbd.UsableSize(diskSize, peers); r.Devices[0].Size != want || r.Peers[0].Devices[0].OutOfSync != want {
			s.Errorf("got %+v, want %d bytes, all of them out of sync", r, want)
		}
		s.refused(a.tool.Primary(s.Context(), a.ref), drbd.ErrNoUpToDate)
		s.refused(a.tool.CreateMD(s.Context(), a.meta(), drbd.MaxPeers), drbd.ErrAlreadyAttached)
		s.ok(a.tool.Down(s.Context(), s.resource))
		s.ok(a.tool.Down(s.Context(), s.resource))
	}},
	{says: "two new disks connect and stay Inconsistent", play: func(s *stage) {
		a, _ := s.connected()
		gi, err := a.tool.Generations(s.Context(), a.ref, 1, 0)
		s.ok(err)
		if gi.Current != drbd.JustCreated {
			s.Errorf("current UUID %s", gi.Current)
		}
		s.refused(a.tool.Primary(s.Context(), a.ref), drbd.ErrNoUpToDate)
	}},
	{says: "skipping the initial sync makes both UpToDate at once, and only once", play: func(s *stage) {
		a, b := s.formed()
		one, err := a.tool.Generations(s.Context(), a.ref, 1, 0)
		s.ok(err)
		two, err := b.tool.Generations(s.Context(), b.ref, 0, 0)
		s.ok(err)
		if one.Current == drbd.JustCreated || one.Current&^1 != two.Current&^1 { // bit 0 is the kernel's
			s.Errorf("current UUIDs %s and %s", one.Current, two.Current)
		}
		s.refused(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync), drbd.ErrNotFresh)
		s.refused(b.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync), drbd.ErrNotFresh)
	}},
	{says: "a full initial sync makes both UpToDate", play: func(s *stage) {
		a, b := s.connected()
		s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.FullInitialSync))
		a.becomes("SyncSource or done", func(r drbd.Resource) bool {
			return r.Peers[0].Devices[0].Repl == drbd.SyncSource || r.Peers[0].Devices[0].Disk == drbd.UpToDate
		})
		s.world.Eventually(s.T, "Secondary", func() error { return a.tool.Secondary(s.Context(), a.ref) })
		a.upToDate()
		b.upToDate()
		if r := a.status(); r.Role != drbd.Secondary || r.Peers[0].Devices[0].OutOfSync != 0 {
			s.Errorf("got %+v", r)
		}
	}},
	{says: "9: the first generation made without a peer makes this disk UpToDate alone", only: 9, play: func(s *stage) {
		a, b := s.actors[0], s.actors[1]
		s.prepare(a, b)
		a.up()
		s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync))
		a.sees(drbd.UpToDate, drbd.Off, drbd.DUnknown)
		b.up() // a full sync follows
		a.upToDate()
		b.upToDate()
	}},
	{says: "8.4: the first generation is not made without a peer", only: 84, play: func(s *stage) {
		a, b := s.actors[0], s.actors[1]
		s.prepare(a, b)
		a.up()
		s.refused(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync), drbd.ErrNotFresh)
		a.sees(drbd.Inconsistent, drbd.Off, drbd.DUnknown)
	}},
	{says: "a resource without peers comes up and serves", play: func(s *stage) {
		a := s.actors[0]
		s.prepare(a)
		a.up()
		if r := a.status(); !lonely(r) || r.Devices[0].Disk != drbd.Inconsistent {
			s.Fatalf("got %+v", r)
		}
		s.ok(a.tool.Adjust(s.Context(), a.ref))
		if a.Version().Is84() { // a new generation that does not help
			s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync))
			if disk := a.status().Devices[0].Disk; disk != drbd.Inconsistent {
				s.Errorf("disk is %s", disk)
			}
		}
		s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, alone(a.Version())))
		a.becomes("UpToDate", func(r drbd.Resource) bool { return r.Devices[0].Disk == drbd.UpToDate })
		a.primary()
		a.write(0, 1)
		a.reads(0, 1)
	}},
	{says: "events tell what status tells", play: func(s *stage) {
		a, b := s.actors[0], s.actors[1]
		s.prepare(a, b)
		told := follow(s, a)
		a.up()
		b.up()
		a.sees(drbd.Inconsistent, drbd.Established, drbd.Inconsistent)
		s.ok(a.tool.NewCurrentUUID(s.Context(), s.minor, drbd.SkipInitialSync))
		a.upToDate()
		a.primary()
		told.same(a, "after primary")
		a.secondary()
		s.ok(b.tool.Down(s.Context(), s.resource))
		a.lonely()
		told.same(a, "without peer")
		s.ok(a.tool.Down(s.Context(), s.resource))
		s.world.Eventually(s.T, "down told", func() error { return told.gone(s.resource) })
	}},
}

// alone is the way to the first generation of a disk that has no peer: DRBD
// 8.4 needs --force for that, which FullInitialSync is there.
func alone(v drbd.Version) drbd.InitialSync {
	if v.Is84() {
		return drbd.FullInitialSync
	}
	return drbd.SkipInitialSync
}

// has says that a verb is among commands.
func has(commands []drbd.Command, verb string) bool {
	return slices.ContainsFunc(commands, func(c drbd.Command) bool { return c.Verb == verb })
}

// lonely says that a resource knows nobody. The kernel of DRBD 8.4 makes its one
// connection with the resource and lists it, StandAlone, until the first connect; the
// simulation lists none, as after a disconnect.
func lonely(r drbd.Resource) bool {
	return len(r.Peers) == 0 || len(r.Peers) == 1 && r.Peers[0].Conn == drbd.StandAlone
}
