package consensus

import (
	"fmt"

	"golang.org/x/sys/unix"

	"rvol/coordinator/model"
)

// Space is how much room a file system has, in bytes.
type Space struct {
	Free  int64
	Total int64
}

// Space is the room under this member's log.
func (n *Node) Space() (Space, error) { return n.cfg.Free() }

// spaceKept is left free for what must still be written when nothing new is accepted:
// entries of others, snapshots, the file system's own.
const spaceKept = 512 << 20 // bytes; or 5 % where that is less

// check says why so many bytes more are not to be written.
func (s Space) check(dir string, more int64) error {
	kept := min(spaceKept, s.Total/20)
	switch {
	case s.Free-more >= kept:
		return nil
	case s.Free >= kept:
		return fmt.Errorf("%w: the file system of %s has %d MiB free, and %d MiB more would leave less than the %d MiB that are kept: make room there",
			model.ErrNoSpace, dir, s.Free>>20, more>>20, kept>>20)
	}
	return fmt.Errorf("%w: the file system of %s has %d MiB free, changes are refused below %d MiB: make room there",
		model.ErrNoSpace, dir, s.Free>>20, kept>>20)
}

func spaceOf(dir string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Space{}, err
	}
	return Space{Free: int64(s.Bavail) * s.Bsize, Total: int64(s.Blocks) * s.Bsize}, nil
}
