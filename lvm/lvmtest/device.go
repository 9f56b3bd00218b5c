package lvmtest

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
)

// chunkSize is what a thin pool hands out at a time, in bytes.
const chunkSize = 64 << 10

// chunks is the content of a thin volume: a chunk exists once it was written to.
type chunks map[int64]sparse

// A Device is an open block device: a logical volume or a whole disk.
type Device struct {
	m          *Machine
	vol        *volume // one of these two
	disk       *disk
	generation int
	exclusive  bool
	close      sync.Once
}

// Open opens /dev/VG/LV of an active volume, or a disk.
func (m *Machine) Open(path string) (*Device, error) { return m.open(path, false) }

// OpenExclusive opens like Open, and refuses with EBUSY when somebody else has
// done so; DRBD and file systems open their devices this way.
func (m *Machine) OpenExclusive(path string) (*Device, error) { return m.open(path, true) }

func (m *Machine) open(path string, exclusive bool) (*Device, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.disk(path); d != nil {
		if exclusive && (d.opens > 0 || d.group != nil) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EBUSY}
		}
		d.opens++
		return &Device{m: m, disk: d, generation: d.generation, exclusive: exclusive}, nil
	}
	v := m.volumeAt(path)
	if v == nil || !v.active || v.kind == thinPool {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if exclusive {
		if v.exclusive > 0 {
			return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EBUSY}
		}
		v.exclusive++
	}
	v.opens++
	return &Device{m: m, vol: v, generation: v.generation, exclusive: exclusive}, nil
}

func (m *Machine) volumeAt(path string) *volume {
	vg, lv, _ := strings.Cut(strings.TrimPrefix(path, "/dev/"), "/")
	g := m.group(vg)
	if g == nil {
		return nil
	}
	return g.volume(lv)
}

// OpenCount tells how often a volume or disk is open now.
func (m *Machine) OpenCount(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.disk(path); d != nil {
		return d.opens
	}
	if v := m.volumeAt(path); v != nil {
		return v.opens
	}
	return 0
}

// Close gives the device back. It may be called again.
func (d *Device) Close() error {
	d.close.Do(func() {
		d.m.mu.Lock()
		defer d.m.mu.Unlock()
		switch {
		case d.dead():
		case d.disk != nil:
			d.disk.opens--
		default:
			d.vol.opens--
			if d.exclusive {
				d.vol.exclusive--
			}
		}
		d.generation = -1
	})
	return nil
}

func (d *Device) dead() bool {
	if d.disk != nil {
		return d.generation != d.disk.generation
	}
	return d.generation != d.vol.generation
}

// Size is the present size in bytes; it follows an lvextend.
func (d *Device) Size() int64 {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	return d.size()
}

func (d *Device) size() int64 {
	if d.disk != nil {
		return d.disk.size
	}
	return d.vol.size()
}

// ReadAt reads; after Close or a loss of power, and from a broken disk, EIO.
func (d *Device) ReadAt(p []byte, off int64) (int, error) {
	return d.transfer(p, off, io.EOF, func(p []byte, at place) error {
		if at.data == nil {
			clear(p)
		} else {
			at.data.read(p, at.off)
		}
		return nil
	})
}

// WriteAt writes; ENOSPC beyond the end and in a full thin pool, EIO as ReadAt.
func (d *Device) WriteAt(p []byte, off int64) (int, error) {
	return d.transfer(p, off, syscall.ENOSPC, func(p []byte, at place) error {
		if at.data == nil {
			var err error
			if at.data, err = d.vol.provision(at.chunk); err != nil {
				return err
			}
		}
		at.data.write(p, at.off)
		return nil
	})
}

// A Range is a part of a device, in bytes.
type Range struct{ Off, Len int64 }

// Written lists, in order, what of a range was ever written to: the rest reads zeros. What
// cannot be read is listed too.
func (d *Device) Written(off, n int64) []Range {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	var found []Range
	end := min(off+n, d.size())
	for off < end {
		where := d.locate(off)
		if d.dead() || where.disk != nil && (!where.disk.present || where.disk.broken) {
			return append(found, Range{Off: off, Len: end - off})
		}
		room := min(where.room, end-off)
		for _, r := range where.data.written(where.off, room) {
			found = append(found, Range{Off: r.Off - where.off + off, Len: r.Len})
		}
		off += room
	}
	return found
}

// A place is where a stretch of a device is kept.
type place struct {
	data  sparse // nil: a chunk that a thin volume does not have yet
	off   int64
	room  int64 // bytes from off that are kept together
	disk  *disk
	chunk int64
}

func (d *Device) transfer(p []byte, off int64, end error, do func([]byte, place) error) (int, error) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if off < 0 {
		return 0, fmt.Errorf("offset %d: %w", off, syscall.EINVAL)
	}
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if d.dead() {
			return done, syscall.EIO
		}
		if at >= d.size() {
			return done, end
		}
		where := d.locate(at)
		if where.disk != nil && (!where.disk.present || where.disk.broken) {
			return done, syscall.EIO
		}
		n := min(int64(len(p)-done), where.room)
		if err := do(p[done:done+int(n)], where); err != nil {
			return done, err
		}
		done += int(n)
	}
	return done, nil
}

// locate finds where the byte at off is kept.
func (d *Device) locate(off int64) place {
	if d.disk != nil {
		return place{data: d.disk.data, off: off, room: d.disk.size - off, disk: d.disk}
	}
	return d.vol.locate(off)
}

func (v *volume) locate(off int64) place {
	if v.kind == thin {
		chunk, within := off/chunkSize, off%chunkSize
		pool := v.pool.segments[0].disk
		return place{data: v.chunks[chunk], off: within, room: min(chunkSize-within, v.size()-off), disk: pool, chunk: chunk}
	}
	for _, s := range v.segments {
		if length := s.count * extentSize; off >= length {
			off -= length
			continue
		}
		return place{data: s.disk.data, off: dataStart + s.start*extentSize + off, room: s.count*extentSize - off, disk: s.disk}
	}
	panic(fmt.Sprintf("volume %s is smaller than its size", v))
}

// provision takes a chunk for v from its pool.
func (v *volume) provision(chunk int64) (sparse, error) {
	if v.pool.usedChunks() >= v.pool.size()/chunkSize {
		return nil, syscall.ENOSPC
	}
	data := sparse{}
	v.chunks[chunk] = data
	return data, nil
}

// usedChunks counts what the volumes of a pool have taken.
func (v *volume) usedChunks() int64 {
	var n int64
	for _, lv := range v.vg.lvs {
		if lv.pool == v {
			n += int64(len(lv.chunks))
		}
	}
	return n
}
