package demo

import (
	"context"
	"fmt"
	"strings"

	"rvol/cmd/internal/lab/deploy"
)

// user is somebody on a node who keeps data in a volume.
type user interface {
	// fill writes data and returns its checksum when the data is stable.
	fill(ctx context.Context, node, volume string) (sum string, err error)
	// sum takes the volume into use on another node and returns the checksum of what it reads.
	sum(ctx context.Context, node, volume string) (string, error)
	// filled and found say in the past tense what fill and sum do.
	filled() string
	found() string
	// leave ends the use.
	leave(ctx context.Context, node, volume string) error
	// traces lists what a node still has of volumes.
	traces(ctx context.Context, node, volume string) ([]string, error)
}

// files keeps a file in a file system, on nodes with a kernel.
type files struct{ *deploy.Cluster }

func (f files) shell(ctx context.Context, node, line string) (string, error) {
	f.Tell.Command(node, line)
	out, err := f.On(ctx, node, line)
	if out != "" {
		f.Tell.Say("%s", out)
	}
	return out, err
}

func (f files) fill(ctx context.Context, node, volume string) (string, error) {
	for _, line := range []string{
		fmt.Sprintf("mkfs.ext4 -q /dev/rvol/%s", volume),
		fmt.Sprintf("mkdir -p /mnt/%s; mount /dev/rvol/%s /mnt/%s", volume, volume, volume),
		fmt.Sprintf("dd if=/dev/urandom of=/mnt/%s/precious bs=1M count=16 conv=fsync status=none", volume),
		fmt.Sprintf("sync -f /mnt/%s", volume),
	} {
		if _, err := f.shell(ctx, node, line); err != nil {
			return "", err
		}
	}
	return f.shell(ctx, node, fmt.Sprintf("sha256sum /mnt/%s/precious", volume))
}

func (f files) sum(ctx context.Context, node, volume string) (string, error) {
	mount := fmt.Sprintf("mkdir -p /mnt/%s; mount /dev/rvol/%s /mnt/%s", volume, volume, volume)
	if _, err := f.shell(ctx, node, mount); err != nil {
		return "", err
	}
	return f.shell(ctx, node, fmt.Sprintf("sha256sum /mnt/%s/precious", volume))
}

func (files) filled() string { return "formatted, mounted, file written and fsynced" }
func (files) found() string  { return "mounted, checksum right" }

func (f files) leave(ctx context.Context, node, volume string) error {
	_, err := f.shell(ctx, node, "umount /mnt/"+volume)
	return err
}

func (f files) traces(ctx context.Context, node, _ string) (left []string, err error) {
	for _, look := range []struct{ what, command string }{
		{"logical volume", "lvs --noheadings -o lv_name --select 'lv_name=~^rvol-'"},
		{"DRBD resource", "drbdsetup status"},
		{".res file", "find /etc/drbd.d/rvol -name '*.res'"},
		{"device link", "find /dev/rvol -type l"},
	} {
		f.Tell.Command(node, look.command)
		out, err := f.On(ctx, node, look.command+" 2>/dev/null || true")
		if err != nil {
			return nil, err
		}
		if out = strings.Join(strings.Fields(out), " "); out != "" {
			left = append(left, look.what+" "+out)
		}
	}
	return left, nil
}
