package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	packaging "rvol/packaging/lab"
)

const suite = "bookworm"

var dropped = [...]string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"}

// rootfs returns the tar of the root file system, from the cache or made now; its hash lies beside it.
func (m *maker) rootfs(ctx context.Context) (string, error) {
	list, err := packaging.Files.ReadFile("packages")
	if err != nil {
		return "", err
	}
	packages := strings.Join(strings.Fields(string(list)), ",")
	name, err := hashAll(func(h hasher) error { return hashText(h, suite+" "+packages+" "+strings.Join(dropped[:], " ")) })
	if err != nil {
		return "", err
	}
	tar := filepath.Join(m.dir, "rootfs-"+name+".tar")
	if exists(sumFile(tar)) && exists(tar) {
		return tar, nil
	}
	mirror, err := m.mirror(ctx)
	if err != nil {
		return "", err
	}
	m.say("rootfs: Debian %s from %s", suite, mirror)
	mode := m.Mode
	if mode == "" {
		mode = "auto"
	}
	part := filepath.Join(m.dir, "part-"+name+".tar")
	defer os.Remove(part)
	argv := []string{"mmdebstrap", "--mode=" + mode, "--variant=minbase", "--skip=output/dev", "--include=" + packages}
	for _, path := range dropped {
		argv = append(argv, "--dpkgopt=path-exclude="+path)
	}
	see := func(line string) {
		if what, ok := strings.CutPrefix(line, "I: "); ok {
			m.say("rootfs: %s", what)
		}
	}
	if _, err := run(ctx, see, append(argv, suite, part, mirror)...); err != nil {
		return "", fmt.Errorf("make the root file system: %w: %s", err,
			"if the host forbids user namespaces, try MMDEBSTRAP_MODE=fakechroot")
	}
	if err := os.Rename(part, tar); err != nil {
		return "", err
	}
	return tar, writeSum(tar)
}
