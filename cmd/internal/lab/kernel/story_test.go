//go:build kernellab

package kernel_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
)

const resource = `resource r0 {
  protocol C;
  net { ping-int 2; ping-timeout 5; connect-int 2; timeout 15; after-sb-0pri disconnect; verify-alg crc32c; }
  disk { c-plan-ahead 0; resync-rate 100M; }
  on n1 { device /dev/drbd0 minor 0; disk /dev/vg0/r0; meta-disk internal; address 10.77.0.1:7788; }
  on n2 { device /dev/drbd0 minor 0; disk /dev/vg0/r0; meta-disk internal; address 10.77.0.2:7788; }
}
`

func TestAReplicatedFileSurvivesTheLossOfItsPrimary(t *testing.T) {
	w := up(t, lab.Config{Nodes: 2, Disks: 1})
	start := time.Now()
	file := filepath.Join(t.TempDir(), "r0.res")
	if err := os.WriteFile(file, []byte(resource), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"n1", "n2"} {
		if err := w.Push(t.Context(), n, file, "/etc/drbd.d/r0.res"); err != nil {
			t.Fatal(err)
		}
		sh(t, w, n, `modprobe drbd; pvcreate -qq /dev/ubdb; vgcreate -qq vg0 /dev/ubdb; lvcreate -qq -y -W n -n r0 -L 64M vg0
			drbdadm create-md --force r0 >&2; drbdadm up r0`)
	}
	await(t, w, "n1", "cs:Connected", "cat /proc/drbd")
	sh(t, w, "n1", "drbdsetup new-current-uuid 0 --clear-bitmap")
	t.Logf("both UpToDate after %.1f s", time.Since(start).Seconds())
	wrote := sh(t, w, "n1", `drbdadm primary r0; mkfs.ext4 -q /dev/drbd0; mkdir -p /m; mount /dev/drbd0 /m
		head -c 8M /dev/urandom >/m/f; sync -f /m/f; sha256sum /m/f`)

	if err := w.Kill(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	await(t, w, "n2", "ro:Secondary/Unknown", "cat /proc/drbd")
	read := sh(t, w, "n2", `drbdadm primary r0; mkdir -p /m; mount /dev/drbd0 /m; sha256sum /m/f; echo after >/m/g; sync -f /m/g`)
	if wrote != read {
		t.Errorf("n1 wrote %s, n2 reads %s", wrote, read)
	}
	if err := w.Start(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	sh(t, w, "n1", "modprobe drbd; vgchange -qq -aay vg0; drbdadm up r0")
	await(t, w, "n1", "ds:UpToDate/UpToDate", "cat /proc/drbd")
	t.Logf("story told in %.1f s", time.Since(start).Seconds())
}
