package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUsersOfADeviceAreNamed(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	write("sys/block/drbd10000/dev", "147:10000\n")
	for _, process := range []string{"1", "20"} {
		link("mnt:[4026531841]", "proc/"+process+"/ns/mnt")
		write("proc/"+process+"/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"+
			"36 22 147:10000 / /srv/db rw,relatime shared:1 - ext4 /dev/drbd10000 rw\n"+
			"37 22 0:45 / /srv/other rw - btrfs /dev/drbd10001 rw\n")
	}
	link("mnt:[4026532000]", "proc/30/ns/mnt")
	write("proc/30/mountinfo", "40 22 0:46 / /inside rw - btrfs /dev/drbd10000 rw\nnonsense\n")
	write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/drbd10000  partition\t1\t0\t-2\n")
	write("sys/block/drbd10000/holders/dm-3", "")
	write("sys/block/dm-3/dm/name", "vg1-data\n")
	write("sys/block/drbd10000/holders/md0", "")
	write("sys/block/loop2/loop/backing_file", "/dev/drbd10000\n")
	write("sys/block/loop3/loop/backing_file", "/var/image\n")
	write("proc/30/comm", "qemu-system-x86\n")
	link("/dev/drbd10000", "proc/30/fd/9")
	link("/dev/drbd10000", "proc/30/fd/10")
	link("/dev/drbd10001", "proc/30/fd/11")
	link("socket:[1]", "proc/30/fd/12")
	link("/dev/drbd10000", "proc/40/fd/3") // it has just ended

	want := []string{
		"mounted on /srv/db", "mounted on /inside", "used as swap", "under /dev/mapper/vg1-data", "under md0", "under loop2",
		"open in qemu-system-x86 (pid 30)",
	}
	if diff := cmp.Diff(want, Users(root, "/dev/drbd10000")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := Users(root, "/dev/drbd10009"); got != nil {
		t.Errorf("a device that nobody uses is used by %q", got)
	}
	if got := Users(t.TempDir(), "/dev/drbd10000"); got != nil {
		t.Errorf("a machine without /proc says %q", got)
	}
}
