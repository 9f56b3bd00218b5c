package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Layer makes the read-only image that every node mounts at /opt/lab: the program self, which is the agent in the node, and the folder
// payload (may be "") as rvol/.
//
// It is an image of its own, so that new programs boot without a new root image (a fraction of a second instead of
// seconds), owned by root, and frozen: unlike a shared host folder, it does not change under a running node when somebody builds again.
func Layer(ctx context.Context, self, payload, out string) error {
	folder, err := os.MkdirTemp(filepath.Dir(out), "layer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := copyFile(self, filepath.Join(folder, "rvol-lab")); err != nil {
		return fmt.Errorf("lay the node agent: %w", err)
	}
	rvol := filepath.Join(folder, "rvol")
	err = errors.Join(os.Chmod(folder, 0o755), os.Mkdir(rvol, 0o755))
	if payload != "" && err == nil {
		_, err = run(ctx, nil, "cp", "-a", payload+"/.", rvol)
	}
	if err != nil {
		return fmt.Errorf("lay the payload %s: %w", payload, err)
	}
	m := &maker{dir: filepath.Dir(out)}
	err = m.withFiles(func(files string) error { return m.asRoot(ctx, filepath.Join(files, "mklayer.sh"), folder, out) })
	if err != nil {
		return fmt.Errorf("make the layer: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) // a program
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
