package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// damaged says what to do about a file that cannot be trusted. It is never repaired: a
// member that forgets what it acknowledged can make the whole cluster forget.
func damaged(err error) error {
	return fmt.Errorf("the log is damaged: %w; remove this member from the cluster, check its disk, and let it join again with an empty directory", err)
}

// notPanicking turns the panics of bbolt and Raft over a damaged file into errors.
func notPanicking(open func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged(fmt.Errorf("%v", p))
		}
	}()
	return open()
}

// checkFile proves that the pages of the file at path hang together.
func checkFile(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockedFor, ReadOnly: true, PreLoadFreelist: true})
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
	if err == nil {
		err = checkMeta(path, db.Info().PageSize)
	}
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
)

// checkMeta proves that both meta pages are intact. With the newer one damaged bbolt
// takes the older one in silence, which forgets the last write. Power loss does not tear
// them: they are smaller than a sector.
func checkMeta(path string, pageSize int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for page := range int64(2) {
		meta := make([]byte, metaSize+8)
		if _, err := f.ReadAt(meta, page*int64(pageSize)+pageHeaderSize); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		sum := fnv.New64a()
		sum.Write(meta[:metaSize])
		if sum.Sum64() != binary.NativeEndian.Uint64(meta[metaSize:]) {
			return damaged(fmt.Errorf("%s: the checksum of page %d is wrong", path, page))
		}
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
