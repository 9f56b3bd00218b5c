package identity

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// private is the mode of every file this package writes: all are read by their owner alone.
const private = 0o600

// tempPattern makes the names of files that are still being written.
const tempPattern = ".*.tmp"

// WriteFile replaces a file as a whole: after a crash it holds the old content or the new, and is on disk when
// WriteFile returns. Only the owner may read it.
func WriteFile(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temp)))
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeTemp writes and syncs the data beside path, and returns where.
func writeTemp(path string, data []byte) (temp string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+tempPattern)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(private), f.Sync(), f.Close())
	return f.Name(), err
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadPrivateFile reads a file and refuses one that others than its owner may read.
func ReadPrivateFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := readPrivate(f)
	return data, errors.Join(err, f.Close())
}

func readPrivate(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s holds a secret and others may read it (mode %04o): run chmod 0600 %s",
			f.Name(), mode, f.Name())
	}
	return io.ReadAll(f)
}
