package act

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rvol/agent/decide"
	"rvol/drbd"
)

// writeFile lets the tools read the new file before it takes the old one's
// place, and sees that an administrator's drbdadm finds it. The first file of a
// resource takes nobody's place: bringing it up reads it.
func (e *Engine) writeFile(ctx context.Context, s decide.WriteFile) error {
	path := e.resFile(s.Resource)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := writeBeside(path, []byte(s.Text), 0o600)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if err := e.DRBD.Tool().Check(ctx, drbd.Ref{Name: s.Resource, File: temp, Minors: s.Minors, Alone: s.Alone}); err != nil {
			return errors.Join(fmt.Errorf("check the new file: %w", err), os.Remove(temp))
		}
	}
	if err := commit(temp, path); err != nil {
		return err
	}
	include := filepath.Join(e.Root, resInclude)
	if text, err := os.ReadFile(include); err == nil && string(text) == includeAll {
		return nil
	}
	return replaceFile(include, []byte(includeAll), 0o600)
}

// link replaces what has the name now.
func (e *Engine) link(s decide.Link) error {
	path := filepath.Join(e.Root, "dev", s.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(s.To, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.links[s.Name] = s.To
	return nil
}

func (e *Engine) unlink(s decide.Unlink) error {
	if err := os.Remove(filepath.Join(e.Root, "dev", s.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.links, s.Name)
	return nil
}
