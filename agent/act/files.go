package act

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// replaceFile writes a file as a whole: after a loss of power it holds the
// old content or the new.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	temp, err := writeBeside(path, data, mode)
	if err != nil {
		return err
	}
	return commit(temp, path)
}

// writeBeside writes data next to path, to disk.
func writeBeside(path string, data []byte, mode fs.FileMode) (temp string, err error) {
	temp = path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	// An older file may have been there with another mode.
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(temp))
	}
	return temp, nil
}

// commit gives a written file its name, on disk.
func commit(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// removeFile removes a file, on disk; it may be gone already.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
