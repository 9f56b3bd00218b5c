package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"rvol/cmd/internal/lab"
	packaging "rvol/packaging/lab"
)

// Sources say what a node's kernel and image are made from.
type Sources struct {
	Mirror  string // Debian mirror; "": that of the host's own apt
	Mode    string // of mmdebstrap; "": auto
	Kernel  string // UML kernel file; "": Debian's
	Modules string // a /lib/modules tree laid over that of Debian's kernel; "": none
	Overlay string // folder laid over the image; "": none
}

// FromEnv reads the sources that the environment names.
func FromEnv(getenv func(string) string) Sources {
	return Sources{
		Mirror:  getenv("RVOL_LAB_MIRROR"),
		Mode:    getenv("MMDEBSTRAP_MODE"),
		Kernel:  getenv("RVOL_LAB_KERNEL"),
		Modules: getenv("RVOL_LAB_MODULES"),
		Overlay: getenv("RVOL_LAB_OVERLAY"),
	}
}

// Set is what a node boots from.
type Set struct {
	Kernel string // the UML kernel, an executable file
	Root   string // image of the root file system, never written to
}

// maker makes one set; its folder is the cache.
type maker struct {
	Sources
	dir string
	say func(format string, args ...any)
}

// Get returns the set made from these sources, from the cache or made now. Only one process at a time fills a cache.
func Get(ctx context.Context, cache string, src Sources, p *lab.Progress) (Set, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Set{}, fmt.Errorf("make the cache: %w", err)
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return Set{}, err
	}
	defer unlock()
	m := &maker{Sources: src, dir: cache, say: p.Say}
	k, err := m.debianKernel(ctx)
	if err != nil {
		return Set{}, err
	}
	rootfs, err := m.rootfs(ctx)
	if err != nil {
		return Set{}, err
	}
	return m.image(ctx, k, rootfs)
}

// image makes the root image. The kernel is part of its name: a node's disks belong to both.
func (m *maker) image(ctx context.Context, k kernel, rootfs string) (Set, error) {
	set := Set{Kernel: k.file}
	if m.Kernel != "" {
		set.Kernel = m.Kernel
	}
	sum, err := hashAll(
		func(h hasher) error { return hashFS(h, packaging.Files) },
		func(h hasher) error { return hashSum(h, rootfs) },
		func(h hasher) error { return hashFile(h, set.Kernel) },
		func(h hasher) error { return hashText(h, k.id) },
		func(h hasher) error { return hashFolder(h, m.Modules) },
		func(h hasher) error { return hashFolder(h, m.Overlay) },
	)
	if err != nil {
		return Set{}, fmt.Errorf("name the image: %w", err)
	}
	set.Root = filepath.Join(m.dir, "node-"+sum+".img")
	if exists(set.Root) {
		return set, nil
	}
	m.say("image: unpacking, trimming, mke2fs")
	more, done, err := m.moreModules()
	if err != nil {
		return Set{}, err
	}
	defer done()
	err = m.withFiles(func(files string) error {
		return m.asRoot(ctx, filepath.Join(files, "mkimage.sh"), rootfs, files, k.modules, more, m.Overlay, set.Root)
	})
	if err != nil {
		return Set{}, fmt.Errorf("make the node image: %w", err)
	}
	m.say("image: done")
	return set, nil
}

// moreModules is the folder that holds one folder for each release: the given one, or one around it when it is that of one release.
func (m *maker) moreModules() (folder string, done func(), err error) {
	done = func() {}
	if m.Modules == "" {
		return "", done, nil
	}
	path, err := filepath.Abs(m.Modules)
	if err != nil {
		return "", done, err
	}
	if !exists(filepath.Join(path, "kernel")) && !exists(filepath.Join(path, "modules.order")) && !exists(filepath.Join(path, "updates")) {
		return path, done, nil
	}
	around, err := os.MkdirTemp(m.dir, "modules-")
	if err != nil {
		return "", done, err
	}
	return around, func() { os.RemoveAll(around) }, os.Symlink(path, filepath.Join(around, filepath.Base(path)))
}

// withFiles calls use with a folder that holds the files of packaging/lab.
func (m *maker) withFiles(use func(folder string) error) error {
	folder, err := os.MkdirTemp(m.dir, "files-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := os.CopyFS(folder, packaging.Files); err != nil {
		return fmt.Errorf("lay out the files of a node: %w", err)
	}
	// an embedded file is read-only for all and the image wants them as in a package
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		return err
	}
	return use(folder)
}

func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	return func() { f.Close() }, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
