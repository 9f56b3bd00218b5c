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
	bolterrors "go.etcd.io/bbolt/errors"
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
			return err
		}
		return checkStores(s)
	})
	if err != nil {
		return nil, err
	}
	return &Stores{
		Log:       &guardedLog{LogStore: s.Log, guard: g},
		Stable:    &guardedStable{store: s.Stable, guard: g},
		Snapshots: &guardedSnapshots{SnapshotStore: s.Snapshots, guard: g},
		Close:     s.Close,
	}, nil
}

// openDir opens a directory. A damaged file is never written to.
func openDir(cfg Config) (*Stores, error) {
	if err := os.MkdirAll(cfg.Dir, onlyForTheMember); err != nil {
		return nil, err
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(cfg.Dir, snapshotsKept, newLogger(cfg.Logger))
	if err != nil {
		return nil, fmt.Errorf("open snapshots in %s: %w", cfg.Dir, err)
	}
	path := filepath.Join(cfg.Dir, logFile)
	if _, err := os.Stat(path); err == nil {
		if err := checkFile(path, snapshots); err != nil {
			return nil, err
		}
	}
	db, err := openBolt(path, readAndWrite)
	if err != nil {
		return nil, err
	}
	return &Stores{Log: db, Stable: db, Snapshots: snapshots, Close: db.Close}, nil
}

// An access is a way to open the file of the log.
type access int

const (
	readAndWrite access = iota
	readOnly
)

func openBolt(path string, mode access) (*raftboltdb.BoltStore, error) {
	db, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: boltOptions(mode)})
	return db, opening(path, err)
}

func boltOptions(mode access) *bbolt.Options {
	return &bbolt.Options{Timeout: lockedFor, ReadOnly: mode == readOnly, PreLoadFreelist: mode == readOnly}
}

func opening(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("open %s: another process has it open: is a coordinator running already?", path)
	}
	return fmt.Errorf("open %s: %w", path, err)
}
