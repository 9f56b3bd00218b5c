package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/uml/image"
)

// The nodes' disks lie in the cache: they are big, and the run folder may be a small tmpfs.
func (w *World) layerFile() string            { return filepath.Join(w.disks, "layer.img") }
func (w *World) rootFile() string             { return filepath.Join(w.disks, "root") } // names the image below the COW files
func (w *World) nodeDisks(node string) string { return filepath.Join(w.disks, node) }
func (w *World) cowFile(node string) string   { return filepath.Join(w.nodeDisks(node), "root.cow") }

func (w *World) dataFile(node string, i int) string {
	return filepath.Join(w.nodeDisks(node), "data"+strconv.Itoa(i)+".img")
}

// prepareDisks makes empty disks, or takes those of the lab before, and the layer.
func (w *World) prepareDisks(ctx context.Context, p *lab.Progress) error {
	if w.cfg.Keep {
		if err := w.keepRoot(); err != nil {
			return err
		}
	} else if err := os.RemoveAll(w.disks); err != nil {
		return err
	}
	if err := os.MkdirAll(w.disks, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(w.rootFile(), []byte(w.set.Root+"\n"), 0o644); err != nil {
		return err
	}
	for name := range w.nodes {
		if err := w.prepareNode(name); err != nil {
			return err
		}
	}
	if err := image.Layer(ctx, w.self, w.cfg.Payload, w.layerFile()); err != nil {
		return err
	}
	p.Say("layer: done")
	return nil
}

// keepRoot goes on with the root image that the kept disks were made over.
func (w *World) keepRoot() error {
	b, err := os.ReadFile(w.rootFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	root := strings.TrimSpace(string(b))
	if _, err := os.Stat(root); err != nil {
		return fmt.Errorf("keep the disks of lab %s: the image they were made over is gone: %w: start without --keep", w.cfg.Name, err)
	}
	w.set.Root = root
	return nil
}

func (w *World) prepareNode(name string) error {
	if err := os.MkdirAll(w.nodeDisks(name), 0o755); err != nil {
		return err
	}
	for i := 1; i <= w.cfg.Disks; i++ {
		f, err := os.OpenFile(w.dataFile(name, i), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size() < w.cfg.DiskSize {
			err = f.Truncate(w.cfg.DiskSize)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
