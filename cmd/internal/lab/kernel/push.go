package kernel

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"rvol/cmd/internal/lab"
)

// Push implements lab.World. The line to a node carries about 1 MB/s; what is large belongs into the payload.
func (w *World) Push(ctx context.Context, name, src, dst string) error {
	if !path.IsAbs(dst) {
		return fmt.Errorf("push %s to %s: %s is not an absolute path", src, name, dst)
	}
	if _, err := os.Stat(src); err != nil {
		return fmt.Errorf("push to %s: %w", name, err)
	}
	r, wr := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		wr.CloseWithError(pack(wr, src, path.Base(dst)))
	}()
	var said bytes.Buffer
	code, err := w.Exec(ctx, name, lab.Command{
		Argv:  []string{"sh", "-c", `mkdir -p "$1" && tar -xf - --no-same-owner -C "$1" && sync -f "$1"`, "push", path.Dir(dst)},
		Stdin: r, Stdout: &said, Stderr: &said,
	})
	r.Close()
	<-packed
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d: %s", code, bytes.TrimSpace(said.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("push %s to %s:%s: %w", src, name, dst, err)
	}
	return nil
}

// pack writes a file or folder as a tar in which it is called as.
func pack(w io.Writer, src, as string) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		return packOne(t, p, path.Join(as, filepath.ToSlash(rel)), d)
	})
	if err != nil {
		return err
	}
	return t.Close()
}

func packOne(t *tar.Writer, p, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(p); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", ""
	if err := t.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(t, f)
	return err
}
