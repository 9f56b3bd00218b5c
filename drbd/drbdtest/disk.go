package drbdtest

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Disks are a node's block devices, by path.
type Disks interface {
	// Open opens a block device exclusively for DRBD; fs.ErrNotExist when
	// there is none.
	Open(path string) (Disk, error)
}

// A Disk is an open block device. A failing ReadAt or WriteAt is an I/O error
// to DRBD.
type Disk interface {
	io.ReaderAt
	io.WriterAt
	// Size is the number of bytes now; it grows under an open disk.
	Size() int64
	// Discard makes a range read as zeros.
	Discard(off, n int64) error
	// Data lists the parts of a range that may hold other than zeros, in
	// order; they may begin before it and end after it.
	Data(off, n int64) []Extent
	Close() error
}

// Memory is a set of disks in memory.
type Memory struct {
	mu    sync.Mutex
	disks map[string]*Sparse
}

// NewMemory makes an empty set.
func NewMemory() *Memory { return &Memory{disks: map[string]*Sparse{}} }

// Create makes a disk of so many bytes of zeros, in place of one of that path.
func (m *Memory) Create(path string, size int64) *Sparse {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := NewSparse(size)
	m.disks[path] = d
	return d
}

// Remove forgets a disk and what it held.
func (m *Memory) Remove(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.disks, path)
}

// Disk gives a disk by path, or nil.
func (m *Memory) Disk(path string) *Sparse {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disks[path]
}

// Open opens a disk.
func (m *Memory) Open(path string) (Disk, error) {
	d := m.Disk(path)
	if d == nil {
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opens++
	return d, nil
}

const pageSize = 4096

// Sparse is a disk that keeps what is not zero. It is safe for concurrent
// use.
type Sparse struct {
	mu    sync.Mutex
	size  int64
	pages map[int64][]byte // by number
	opens int
	fail  error
}

// NewSparse makes a disk of so many bytes of zeros.
func NewSparse(size int64) *Sparse { return &Sparse{size: size, pages: map[int64][]byte{}} }

// Size is the number of bytes.
func (d *Sparse) Size() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.size
}

// Resize sets the number of bytes; what is cut off is lost.
func (d *Sparse) Resize(size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size = size
	maps.DeleteFunc(d.pages, func(n int64, _ []byte) bool { return n*pageSize >= size })
}

// Opens is how often the disk is open.
func (d *Sparse) Opens() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opens
}

// Fail makes every read and write fail with err, until it is nil again.
func (d *Sparse) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
}

// ReadAt reads.
func (d *Sparse) ReadAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(p, off); err != nil {
		return 0, err
	}
	for part, page := range pages(p, off) {
		clear(part)
		if data := d.pages[page.Off/pageSize]; data != nil {
			copy(part, data[page.Off%pageSize:])
		}
	}
	return len(p), nil
}

// WriteAt writes.
func (d *Sparse) WriteAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.check(p, off); err != nil {
		return 0, err
	}
	for part, page := range pages(p, off) {
		n := page.Off / pageSize
		zero := !slices.ContainsFunc(part, func(b byte) bool { return b != 0 })
		switch {
		case zero && len(part) == pageSize:
			delete(d.pages, n)
			continue
		case zero && d.pages[n] == nil:
			continue
		case d.pages[n] == nil:
			d.pages[n] = make([]byte, pageSize)
		}
		copy(d.pages[n][page.Off%pageSize:], part)
	}
	return len(p), nil
}

func (d *Sparse) check(p []byte, off int64) error {
	if d.fail != nil {
		return d.fail
	}
	if off < 0 || off+int64(len(p)) > d.size {
		return fmt.Errorf("%d bytes at %d of a disk of %d: %w", len(p), off, d.size, io.ErrUnexpectedEOF)
	}
	return nil
}

// pages cuts p at the borders of pages.
func pages(p []byte, off int64) iter.Seq2[[]byte, Extent] {
	return func(yield func([]byte, Extent) bool) {
		for len(p) > 0 {
			n := min(int64(len(p)), pageSize-off%pageSize)
			if !yield(p[:n], Extent{Off: off, Len: n}) {
				return
			}
			p, off = p[n:], off+n
		}
	}
}

// Discard makes a range read as zeros.
func (d *Sparse) Discard(off, n int64) error {
	zeros := make([]byte, pageSize)
	for _, e := range append(d.Data(off, n), Extent{Off: off}) {
		from, to := max(e.Off, off), min(e.End(), off+n)
		if from >= to {
			continue
		}
		if _, err := d.WriteAt(zeros[:to-from], from); err != nil {
			return err
		}
	}
	return nil
}

// Data lists the pages of a range that may hold other than zeros, in order.
func (d *Sparse) Data(off, n int64) []Extent {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []Extent
	for page := range d.pages {
		e := Extent{Off: page * pageSize, Len: pageSize}
		if e.Off < off+n && e.End() > off {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b Extent) int { return cmp.Compare(a.Off, b.Off) })
	return found
}

// Close ends one opening.
func (d *Sparse) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opens--
	return nil
}
