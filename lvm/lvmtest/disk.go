package lvmtest

import "slices"

// A disk is a block device of the machine, perhaps a physical volume.
type disk struct {
	path       string
	size       int64
	present    bool
	broken     bool // transfers fail
	rotates    bool // cannot discard
	data       sparse
	opens      int
	generation int

	uuid  string // of the physical volume; "" while it is none
	group *group
	used  []bool // extents taken
}

// dataStart is where the extents of a physical volume begin, in bytes.
const dataStart = 1 << 20

func (d *disk) extents() int64 { return (d.size - dataStart) / extentSize }

func (d *disk) free() int64 {
	var n int64
	for _, used := range d.used {
		if !used {
			n++
		}
	}
	return n
}

// A segment is a run of extents on one disk.
type segment struct {
	disk  *disk
	start int64
	count int64
}

func (g *group) free() int64 {
	var n int64
	for _, d := range g.disks {
		n += d.free()
	}
	return n
}

// allocate takes n extents, the lowest first; false when there are not so many.
func (g *group) allocate(n int64) ([]segment, bool) {
	if n > g.free() {
		return nil, false
	}
	var segments []segment
	for _, d := range g.disks {
		for i := range d.used {
			if n == 0 {
				return segments, true
			}
			if d.used[i] {
				continue
			}
			d.used[i] = true
			n--
			last := len(segments) - 1
			if last >= 0 && segments[last].disk == d && segments[last].start+segments[last].count == int64(i) {
				segments[last].count++
			} else {
				segments = append(segments, segment{disk: d, start: int64(i), count: 1})
			}
		}
	}
	return segments, true
}

func (s segment) release() {
	for i := range s.count {
		s.disk.used[s.start+i] = false
	}
}

// pageSize is the unit in which content is kept, in bytes.
const pageSize = 4096

// sparse is content by page number; what is not there reads zeros.
type sparse map[int64][]byte

func (s sparse) read(p []byte, off int64) {
	for len(p) > 0 {
		page, within := off/pageSize, off%pageSize
		n := min(int64(len(p)), pageSize-within)
		if b, ok := s[page]; ok {
			copy(p[:n], b[within:])
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+n
	}
}

func (s sparse) write(p []byte, off int64) {
	for len(p) > 0 {
		page, within := off/pageSize, off%pageSize
		n := min(int64(len(p)), pageSize-within)
		b, ok := s[page]
		if !ok {
			b = make([]byte, pageSize)
			s[page] = b
		}
		copy(b[within:], p[:n])
		p, off = p[n:], off+n
	}
}

// written lists what of a range is there, page by page and in order.
func (s sparse) written(off, n int64) []Range {
	var pages []int64
	first, last := off/pageSize, (off+n-1)/pageSize
	if int64(len(s)) < last-first {
		for page := range s {
			if first <= page && page <= last {
				pages = append(pages, page)
			}
		}
		slices.Sort(pages)
	} else {
		for page := first; page <= last; page++ {
			if s[page] != nil {
				pages = append(pages, page)
			}
		}
	}
	found := make([]Range, len(pages))
	for i, page := range pages {
		begin, end := max(page*pageSize, off), min((page+1)*pageSize, off+n)
		found[i] = Range{Off: begin, Len: end - begin}
	}
	return found
}

// forget makes whole pages read zeros.
func (s sparse) forget(off, n int64) {
	first, last := off/pageSize, (off+n)/pageSize
	if int64(len(s)) < last-first {
		for page := range s {
			if first <= page && page < last {
				delete(s, page)
			}
		}
		return
	}
	for page := first; page < last; page++ {
		delete(s, page)
	}
}
