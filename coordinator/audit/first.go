package audit

// First is the oldest index that Read goes back to without ErrCompacted; 0: as far as
// there ever was anything.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if readable := contiguous(l.segments); len(readable) > 0 && readable[0].joins != origin {
		return readable[0].first
	}
	return 0
}
