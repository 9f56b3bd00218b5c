package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeStateDir makes the folder of a program's state, for its owner alone. A parent that it makes on the way lets others pass
// whatever the umask: the folders of the programs lie side by side, and each program has a user of its own.
func MakeStateDir(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(parent, 0o755), os.Chmod(parent, 0o755)); err != nil { // nothing but folders in it
			return fmt.Errorf("make the folder of states: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the state: %w", err)
	}
	return nil
}
