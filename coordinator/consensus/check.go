package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime/debug"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// damaged says what to do about a file that cannot be trusted. It is never repaired: a
// member that forgets what it acknowledged can make the whole cluster forget.
func damaged(err error) error {
	return fmt.Errorf("the log is damaged: %w; remove this member from the cluster, check its disk, and let it join again with an empty directory", err)
}

// notPanicking turns the panics of bbolt and Raft over a damaged file into errors. bbolt
// reads the file as memory: an offset that is wrong becomes a fault.
func notPanicking(open func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			err = damaged(fmt.Errorf("%v", p))
		}
	}()
	return open()
}

// checkFile proves that the file at path is intact: its meta pages, what it holds, and
// that its pages hang together. The last is bbolt's own check, which ends the process
// where an offset is wrong, and so comes last. What nothing here can see is an old page in
// the place of a newer one, or a page that counts too few elements: bbolt has no checksum
// for that, and the newest entries are missing. The majority of the others has them.
func checkFile(path string, snapshots raft.SnapshotStore) error {
	if err := checkMeta(path); err != nil {
		return err
	}
	store, err := openBolt(path, readOnly)
	if err != nil {
		return err
	}
	err = notPanicking(func() error {
		return checkStores(&Stores{Log: store, Stable: store, Snapshots: snapshots})
	})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	return checkPages(path)
}

func checkPages(path string) error {
	db, err := bbolt.Open(path, 0o600, boltOptions(readOnly))
	if err != nil {
		return opening(path, err)
	}
	var found []error
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			found = append(found, err)
		}
		return nil
	})
	if len(found) > 0 {
		err = damaged(fmt.Errorf("%s: %d faults, the first: %w", path, len(found), found[0]))
	}
	return errors.Join(err, db.Close())
}

// The meta page of a bbolt file, of which there are two, used in turn (bbolt
// internal/common/meta.go and page.go).
const (
	pageHeaderSize = 16 // bytes before the meta data
	metaSize       = 56 // bytes of meta data before their checksum
	pageSizeAt     = 8  // where in the meta data the size of a page stands
)

// checkMeta proves that both meta pages are intact. With the newer one damaged bbolt
// takes the older one in silence, which forgets the last write. Power loss does not tear
// them: they are smaller than a sector.
func checkMeta(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	at := int64(pageHeaderSize)
	for page := range 2 {
		meta := make([]byte, metaSize+8)
		if _, err := f.ReadAt(meta, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		sum := fnv.New64a()
		sum.Write(meta[:metaSize])
		if sum.Sum64() != binary.NativeEndian.Uint64(meta[metaSize:]) {
			return damaged(fmt.Errorf("%s: the checksum of page %d is wrong", path, page))
		}
		at += int64(binary.NativeEndian.Uint32(meta[pageSizeAt:]))
	}
	return nil
}

// checkStores reads every entry, and makes sure that what a member must never forget is
// there. Entries may be missing where the newest snapshot stands in for them.
func checkStores(s *Stores) error {
	first, err := s.Log.FirstIndex()
	if err != nil {
		return fmt.Errorf("check the log: %w", err)
	}
	last, err := s.Log.LastIndex()
	if err != nil {
		return fmt.Errorf("check the log: %w", err)
	}
	snapshots, err := s.Snapshots.List()
	if err != nil {
		return fmt.Errorf("check the snapshots: %w", err)
	}
	covered := uint64(0)
	if len(snapshots) > 0 {
		covered = snapshots[0].Index
	}
	if first > covered+1 {
		return damaged(fmt.Errorf("it begins at entry %d, the newest snapshot ends at %d", first, covered))
	}
	var l raft.Log
	for i := max(first, 1); i <= last; i++ {
		err := s.Log.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) && i <= covered {
			continue
		}
		if err == nil {
			err = unseal(i, &l)
		}
		if err != nil {
			return damaged(fmt.Errorf("entry %d: %w", i, err))
		}
	}
	return checkTerm(s.Stable, l.Term)
}

// checkTerm makes sure that the member remembers a term at least as new as its last
// entry: otherwise it could vote twice in one.
func checkTerm(s raft.StableStore, last uint64) error {
	term, err := (&guardedStable{store: s}).GetUint64([]byte("CurrentTerm")) // as raft.go calls it
	if err != nil && err.Error() != errKeyNotFound {
		return damaged(err)
	}
	if term < last {
		return damaged(fmt.Errorf("its last entry is of term %d, the term it remembers is %d", last, term))
	}
	return nil
}
