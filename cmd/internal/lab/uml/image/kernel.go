package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"rvol/cmd/internal/lab/uml/elffix"
)

// The kernel package the lab was proved with. Older ones die on processors with a large register file.
const (
	kernelPackage = "user-mode-linux"
	kernelVersion = "7.2um1"
	kernelSHA256  = "f947c9244fd79d481299df2ad68961f6b3b7703bff38c4b0e726f861161da62c"
)

// kernel is Debian's User Mode Linux, unpacked.
type kernel struct {
	id      string // version and hash of the package
	file    string
	modules string // a /lib/modules
}

// debianKernel returns Debian's kernel, from the cache or fetched now.
func (m *maker) debianKernel(ctx context.Context) (kernel, error) {
	chosen := filepath.Join(m.dir, "kernel-"+kernelVersion) // a link to the folder of the package that was taken
	if !exists(filepath.Join(chosen, "linux")) {
		if err := m.fetchKernel(ctx, chosen); err != nil {
			return kernel{}, fmt.Errorf("fetch the kernel: %w", err)
		}
	}
	folder, err := os.Readlink(chosen)
	if err != nil {
		return kernel{}, fmt.Errorf("find the kernel: %w", err)
	}
	k := kernel{id: folder, file: filepath.Join(m.dir, folder, "linux"), modules: filepath.Join(m.dir, folder, "modules")}
	if !strings.HasPrefix(folder, "uml-"+kernelVersion+"-") {
		m.say("kernel: %s, not the proved %s, which the mirror no longer had", folder, kernelVersion)
	}
	return k, nil
}

func (m *maker) fetchKernel(ctx context.Context, chosen string) error {
	mirror, err := m.mirror(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(m.dir, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	a, err := newApt(work, mirror)
	if err != nil {
		return err
	}
	m.say("kernel: reading the package lists of %s", mirror)
	expired, err := a.update(ctx)
	if err != nil {
		return err
	}
	if expired {
		m.say("kernel: these package lists are past their Valid-Until: taking only the package whose hash is pinned")
	}
	deb, version, err := m.download(ctx, a, expired)
	if err != nil {
		return err
	}
	return m.unpackKernel(ctx, work, deb, version, chosen)
}

// download returns the pinned package, or else, when the lists are fresh, the newest.
func (m *maker) download(ctx context.Context, a *apt, expired bool) (deb, version string, err error) {
	m.say("kernel: downloading %s %s", kernelPackage, kernelVersion)
	deb, err = a.download(ctx, kernelPackage+"="+kernelVersion)
	if err == nil {
		sum, err := fileSum(deb)
		if err == nil && sum != kernelSHA256 {
			err = fmt.Errorf("check %s: its SHA-256 is %s, wanted %s", filepath.Base(deb), sum, kernelSHA256)
		}
		return deb, kernelVersion, err
	}
	if expired {
		return "", "", fmt.Errorf("%w: and no other may be taken from expired lists: set RVOL_LAB_MIRROR to a mirror that is up to date", err)
	}
	m.say("kernel: %s is gone from the mirror: taking the newest, whose signature apt checks", kernelVersion)
	if deb, err = a.download(ctx, kernelPackage); err != nil {
		return "", "", err
	}
	_, rest, _ := strings.Cut(filepath.Base(deb), "_")
	version, _, _ = strings.Cut(rest, "_")
	return deb, version, nil
}

func (m *maker) unpackKernel(ctx context.Context, work, deb, version, chosen string) error {
	sum, err := fileSum(deb)
	if err != nil {
		return err
	}
	tree, out := filepath.Join(work, "tree"), filepath.Join(work, "out")
	if _, err := run(ctx, nil, "dpkg-deb", "-x", deb, tree); err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(tree, "usr/lib/uml/modules"), filepath.Join(out, "modules")); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(deb), err)
	}
	if err := m.runnable(ctx, filepath.Join(tree, "usr/bin/linux.uml"), filepath.Join(out, "linux")); err != nil {
		return err
	}
	name := "uml-" + version + "-" + sum[:16]
	final := filepath.Join(m.dir, name)
	if err := errors.Join(os.RemoveAll(final), os.Rename(out, final), os.RemoveAll(chosen)); err != nil {
		return err
	}
	return os.Symlink(name, chosen)
}

// runnable writes the kernel so that it runs on this host: with its need of a newer glibc lifted, or, when that cannot be done, as it is.
func (m *maker) runnable(ctx context.Context, from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	fixed, renamed, why := elffix.Fix(program)
	if why != nil {
		fixed = program
	}
	if err := os.WriteFile(to, fixed, 0o755); err != nil { // a program
		return err
	}
	release, err := exec.CommandContext(ctx, to, "--version").Output()
	if err != nil {
		return fmt.Errorf("run the kernel on this host: %w", errors.Join(err, why))
	}
	m.say("kernel: Linux %s, needs of a newer glibc lifted: %d", strings.TrimSpace(string(release)), len(renamed))
	return nil
}
