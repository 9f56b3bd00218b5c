package drbdtest

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"rvol/drbd"
)

// metadata is what DRBD keeps on the backing disk, in a form of its own: a
// superblock in the last block of the disk points at a JSON text that lies
// where bitmap and activity log would. Wiping, growing or replacing a disk
// does to it what it does to the real one.
type metadata struct {
	Format       string
	Slots        int
	Current      drbd.UUID
	Device       drbd.UUID
	History      []drbd.UUID
	Size         int64                   // usable bytes last agreed on
	State        drbd.DiskState          // Inconsistent, Outdated or UpToDate
	Primary      bool                    // Primary now, or when power went
	Crashed      bool                    // was Primary when power went, and has not met its peer since
	PeerOutdated bool                    // DRBD 8.4: the peer's data is known to be older
	Hot          extents                 // the activity log: where writes may be under way
	Peers        map[drbd.NodeID]*peerMD // DRBD 8.4 has peer 0
}

// peerMD is a bitmap slot.
type peerMD struct {
	Bitmap    drbd.UUID // generation that the bits are relative to; 0: in sync
	OutOfSync extents
}

const (
	superblock = 4096
	magic      = "drbdtest"
)

var errNoMetadata = errors.New("no valid meta data found")

// freshMetadata is what create-md writes.
func freshMetadata(format string, slots int) *metadata {
	return &metadata{
		Format: format, Slots: slots, Current: drbd.JustCreated,
		State: drbd.Inconsistent, Peers: map[drbd.NodeID]*peerMD{},
	}
}

// usable is the room for data on a disk of so many bytes.
func (m *metadata) usable(disk int64) int64 { return drbd.UsableSize(disk, m.Slots) }

// peer gives the slot of a peer. A new one stands for a peer that has
// nothing: all of it is out of sync.
func (m *metadata) peer(id drbd.NodeID) *peerMD {
	p := m.Peers[id]
	if p == nil {
		p = &peerMD{OutOfSync: extents{}.add(Extent{Len: m.Size})}
		m.Peers[id] = p
	}
	return p
}

// save writes the metadata to the end of a disk as large as size.
func (m *metadata) save(d Disk, size int64) error {
	start := m.usable(size)
	room := size&^(pageSize-1) - superblock - start
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if int64(len(text)) > room { // then the bitmaps are kept more coarsely
		for _, p := range m.Peers {
			p.OutOfSync = coarse(p.OutOfSync)
		}
		m.Hot = coarse(m.Hot)
		if text, err = json.Marshal(m); err != nil {
			return err
		}
	}
	head := make([]byte, superblock)
	copy(head, magic)
	binary.BigEndian.PutUint64(head[len(magic):], uint64(start))
	binary.BigEndian.PutUint64(head[len(magic)+8:], uint64(len(text)))
	if _, err := d.WriteAt(text, start); err != nil {
		return err
	}
	_, err = d.WriteAt(head, size&^(pageSize-1)-superblock)
	return err
}

// loadMetadata reads what lies at the end of a disk as large as size.
func loadMetadata(d Disk, size int64) (*metadata, error) {
	at := size&^(pageSize-1) - superblock
	if at < 0 {
		return nil, errNoMetadata
	}
	head := make([]byte, superblock)
	if _, err := d.ReadAt(head, at); err != nil {
		return nil, err
	}
	start := int64(binary.BigEndian.Uint64(head[len(magic):]))
	n := int64(binary.BigEndian.Uint64(head[len(magic)+8:]))
	if string(head[:len(magic)]) != magic || start < 0 || n < 0 || n > at-start {
		return nil, errNoMetadata
	}
	text := make([]byte, n)
	if _, err := d.ReadAt(text, start); err != nil {
		return nil, err
	}
	m := &metadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, errNoMetadata
	}
	if m.Peers == nil {
		m.Peers = map[drbd.NodeID]*peerMD{}
	}
	return m, nil
}

// wipeMetadata makes it unrecognizable.
func wipeMetadata(d Disk, size int64) error {
	return d.Discard(size&^(pageSize-1)-superblock, superblock)
}

// coarse is one range around all.
func coarse(s extents) extents {
	if len(s) == 0 {
		return s
	}
	first, last := s[0], s[len(s)-1]
	return extents{{Off: first.Off, Len: last.End() - first.Off}}
}
