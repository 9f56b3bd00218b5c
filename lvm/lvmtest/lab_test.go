//go:build lab

package lvmtest

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"testing"
)

// Run in a node of the kernel lab, as root, with a disk of DiskSize bytes:
//
//	go test -c -tags lab ./lvm/lvmtest && lvmtest.test -test.v -disk /dev/ubdc
var labDisk = flag.String("disk", "", "an empty disk that may be overwritten")

// labWorld is a World made of the machine's own LVM.
type labWorld struct{}

type labError struct {
	*exec.ExitError
	stderr []byte
}

func (e labError) Stderr() []byte { return e.stderr }

func (labWorld) Run(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out, labError{exit, exit.Stderr}
	}
	return out, err
}

func (labWorld) Disk(t *testing.T) string {
	t.Helper()
	clean := func() {
		_ = exec.CommandContext(context.Background(), "vgremove", "--force", "--force", "--yes", suiteVG).Run()
		if out, err := exec.CommandContext(context.Background(), "wipefs", "--all", *labDisk).CombinedOutput(); err != nil {
			t.Errorf("wipe %s: %v: %s", *labDisk, err, out)
		}
	}
	clean()
	t.Cleanup(clean)
	return *labDisk
}

func (labWorld) Open(path string) (BlockDevice, error) { return os.OpenFile(path, os.O_RDWR, 0) }

func TestSuiteOnThisMachine(t *testing.T) {
	if *labDisk == "" {
		t.Fatal("name a disk with -disk")
	}
	Suite(t, func(*testing.T) World { return labWorld{} })
}
