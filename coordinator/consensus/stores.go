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
	onlyForTheMember = 0o700
)

// openStores opens the stores in the directory of cfg, or takes those it names, proves
// that they are intact, and puts the guard around them.
func openStores(cfg Config, g *guard) (*Stores, error) {
	s := cfg.Stores
	err := notPanicking(func() (err error) {
		if s == nil {
			s, err = openDir(cfg)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := notPanicking(func() error { return checkStores(s) }); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Stores{
		Log:       &guardedLog{LogStore: s.Log, guard: g},
		Stable:    &guardedStable{store: s.Stable, guard: g},
		Snapshots: &guardedSnapshots{SnapshotStore: s.Snapshots, guard: g},
		Close:     s.Close,
	}, nil
}

func openDir(cfg Config) (*Stores, error) {
	if err := os.MkdirAll(cfg.Dir, onlyForTheMember); err != nil {
		return nil, err
	}
	path := filepath.Join(cfg.Dir, logFile)
	if err := checkFile(path); err != nil {
		return nil, err
	}
	db, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{Timeout: lockedFor}})
	if err != nil {
		return nil, opening(path, err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(cfg.Dir, snapshotsKept, newLogger(cfg.Logger))
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
