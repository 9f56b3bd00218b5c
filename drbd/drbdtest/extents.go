package drbdtest

import "slices"

// An Extent is a range of bytes.
type Extent struct{ Off, Len int64 }

// End is the first byte after the range.
func (e Extent) End() int64 { return e.Off + e.Len }

// extents is a set of bytes: sorted ranges that neither overlap nor touch.
type extents []Extent

func (s extents) bytes() int64 {
	var n int64
	for _, e := range s {
		n += e.Len
	}
	return n
}

// add gives the set with a range.
func (s extents) add(e Extent) extents {
	if e.Len <= 0 {
		return s
	}
	var out extents
	i := 0
	for ; i < len(s) && s[i].End() < e.Off; i++ {
		out = append(out, s[i])
	}
	for ; i < len(s) && s[i].Off <= e.End(); i++ {
		end := max(e.End(), s[i].End())
		e.Off = min(e.Off, s[i].Off)
		e.Len = end - e.Off
	}
	return append(append(out, e), s[i:]...)
}

// union gives the bytes of both.
func (s extents) union(other extents) extents {
	out := slices.Clone(s)
	for _, e := range other {
		out = out.add(e)
	}
	return out
}

// remove gives the set without a range.
func (s extents) remove(r Extent) extents {
	if r.Len <= 0 {
		return s
	}
	var out extents
	for _, e := range s {
		if e.End() <= r.Off || e.Off >= r.End() {
			out = append(out, e)
			continue
		}
		if e.Off < r.Off {
			out = append(out, Extent{Off: e.Off, Len: r.Off - e.Off})
		}
		if e.End() > r.End() {
			out = append(out, Extent{Off: r.End(), Len: e.End() - r.End()})
		}
	}
	return out
}

// first gives the first n bytes of the set.
func (s extents) first(n int64) extents {
	var out extents
	for _, e := range s {
		if n <= 0 {
			break
		}
		e.Len = min(e.Len, n)
		n -= e.Len
		out = append(out, e)
	}
	return out
}

// blocks are the blocks of 4 KiB that a range touches.
func blocks(e Extent) Extent {
	start := e.Off &^ (pageSize - 1)
	end := (e.End() + pageSize - 1) &^ (pageSize - 1)
	return Extent{Off: start, Len: end - start}
}

// wholeBlocks are the blocks of 4 KiB that a range covers.
func wholeBlocks(e Extent) Extent {
	start := (e.Off + pageSize - 1) &^ (pageSize - 1)
	end := e.End() &^ (pageSize - 1)
	return Extent{Off: start, Len: max(0, end-start)}
}
