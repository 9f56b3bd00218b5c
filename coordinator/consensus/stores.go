package consensus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// Stores are what Raft keeps on disk.
type Stores struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Close     func() error // nil: nothing to close
}

func (s *Stores) close() error {
	if s.Close == nil {
		return nil
	}
	return s.Close()
}

const (
	logFile          = "raft.db"
	snapshotsKept    = 2
	lockedFor        = 3 * time.Second // how long to wait for another process to let go of the file
	snapshotsFolder  = "."             // raft makes "snapshots" in it
	onlyForTheMember = 0o700
)

// openStores opens the stores in the directory of cfg, or takes those it names, proves
// that the log is intact, and puts the guard around them.
func openStores(cfg Config, g *guard) (*Stores, error) {
	s := cfg.Stores
	if s == nil {
		var err error
		if s, err = openDir(cfg); err != nil {
			return nil, err
		}
	}
	guarded := &Stores{
		Log:       &guardedLog{LogStore: s.Log, guard: g},
		Stable:    &guardedStable{StableStore: s.Stable, guard: g},
		Snapshots: &guardedSnapshots{SnapshotStore: s.Snapshots, guard: g},
		Close:     s.Close,
	}
	if err := scanLog(s.Log); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return guarded, nil
}

func openDir(cfg Config) (*Stores, error) {
	if err := os.MkdirAll(cfg.Dir, onlyForTheMember); err != nil {
		return nil, err
	}
	path := filepath.Join(cfg.Dir, logFile)
	if err := checkPages(path); err != nil {
		return nil, err
	}
	db, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{Timeout: lockedFor}})
	if err != nil {
		return nil, opening(path, err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(filepath.Join(cfg.Dir, snapshotsFolder), snapshotsKept, newLogger(cfg.Logger))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshots in %s: %w", cfg.Dir, err), db.Close())
	}
	return &Stores{Log: db, Stable: db, Snapshots: snapshots, Close: db.Close}, nil
}

func opening(path string, err error) error {
	if errors.Is(err, bbolt.ErrTimeout) {
		return fmt.Errorf("open %s: another process has it open: is a coordinator running already?", path)
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// checkPages proves that the pages of the file at path hang together.
func checkPages(path string) error {
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
	if len(found) > 0 {
		err = damaged(fmt.Errorf("%s: %d faults, the first: %w", path, len(found), found[0]))
	}
	return errors.Join(err, db.Close())
}

// scanLog reads every entry. There may be gaps: a snapshot from the leader stands in for
// what is missing.
func scanLog(s raft.LogStore) error {
	first, err := s.FirstIndex()
	if err != nil {
		return fmt.Errorf("scan the log: %w", err)
	}
	last, err := s.LastIndex()
	if err != nil {
		return fmt.Errorf("scan the log: %w", err)
	}
	for i := max(first, 1); i <= last; i++ {
		var l raft.Log
		err := s.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) {
			continue
		}
		if err == nil {
			err = unseal(i, &l)
		}
		if err != nil {
			return damaged(err)
		}
	}
	return nil
}

func damaged(err error) error {
	return fmt.Errorf("the log is damaged: %w; remove this member from the cluster, check its disk, and let it join again with an empty directory", err)
}
