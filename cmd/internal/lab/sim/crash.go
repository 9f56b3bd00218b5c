package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// KillCoordinator ends the node's coordinator as a loss of power would: nobody hears a
// goodbye, nothing that it writes from now on is there afterwards, and of its audit trail,
// which it syncs at snapshots only, it keeps no more than the given part of the newest
// segment. The connections of the node's agent go with it. Nothing of the cluster may run
// meanwhile: in a bubble, call synctest.Wait first.
func (n *Node) KillCoordinator(keeps float64) error {
	if !n.CoordinatorRuns() {
		return fmt.Errorf("kill the coordinator of %s: it does not run", n.Name)
	}
	dir, kept := n.coordinatorDir(), n.coordinatorDir()+".kept"
	if err := copyTree(dir, kept); err != nil {
		return err
	}
	n.c.net.silence(n.Name, APIPort, raftPort, CoordinatorMetricsPort)
	_ = n.stopCoordinator() // whatever it says now is of no interest
	if err := errors.Join(os.RemoveAll(dir), os.Rename(kept, dir)); err != nil {
		return err
	}
	return tearTrail(filepath.Join(dir, "audit"), keeps)
}

// copyTree copies a folder with its modes.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Mkdir(filepath.Join(to, rest), st.Mode().Perm())
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rest), b, st.Mode().Perm())
	})
}

// tearTrail cuts the end off the newest segment of an audit trail.
func tearTrail(dir string, keeps float64) error {
	segments, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(segments) == 0 {
		return err
	}
	newest := slices.Max(segments)
	st, err := os.Stat(newest)
	if err != nil {
		return err
	}
	return os.Truncate(newest, int64(float64(st.Size())*keeps))
}
