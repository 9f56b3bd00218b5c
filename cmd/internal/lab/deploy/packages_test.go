//go:build kernellab

package deploy_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rvol/cmd/internal/lab/deploy/deploytest"
)

// TestPackages is the life of the packages on machines: installed, joined, used from fstab, upgraded under a writer, rebooted, removed.
// Every directive of the units is in force while it runs.
func TestPackages(t *testing.T) {
	t.Parallel()
	debs := t.TempDir()
	folders := map[string]string{"old": filepath.Join(debs, "old"), "new": filepath.Join(debs, "new")}
	for name, version := range map[string]string{"old": "0.0.1", "new": "0.0.2"} {
		if err := deploytest.Packages(folders[name], version); err != nil {
			t.Fatal(err)
		}
	}
	f := &failover{T: t, Cluster: deploytest.UpPackages(t, bin, 3, folders, "old"), volume: "db-1", last: -1}
	f.hardened()
	f.rvol("lvg create n1 vg1 --thin-pool tp --wait")
	f.rvol("lvg create n2 vg1 --thin-pool tp --wait")
	// Whether DRBD notices an upgrade is not to hang on how busy the machine of the test is: 10 s, not half a second, for a ping.
	f.rvol("class create r2 --ftt 1 --gmdr 0 --type LVMThin --vg vg1 --thin-pool tp --drbd resync-rate=100M --drbd ping-timeout=100")
	f.rvol("volume create fs --size 64MiB --class r2 --wait")
	f.rvol("volume create db-1 --size 64MiB --class r2 --wait")
	f.mountsAtBoot()
	f.upgradesUnderAWriter()
	f.keepsSecrets()
	f.rebootsWithItsMount()
	f.removalLeavesEverything()
}

// on runs a script on a node, and returns what it prints.
func (f *failover) on(node, script string) string {
	f.Helper()
	out, err := f.On(f.Context(), node, script)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// hardened holds the units to their exposure, as the systemd of the node counts it, and sees that preflight has nothing to say.
func (f *failover) hardened() {
	f.Helper()
	for unit, most := range map[string]string{"rvol-coordinator.service": "17", "rvol-agent.service": "35", "rvol-attach@.service": "17"} {
		out := f.on("n1", "systemd-analyze security --no-pager --offline=yes --threshold="+most+" /usr/lib/systemd/system/"+unit)
		f.Log(out[strings.LastIndex(out, "\n")+1:])
	}
	f.eventually(`LVMIgnoresDRBD +True`, "node show n1")
	if out := f.rvol("node show n1"); strings.Contains(out, "False") {
		f.Errorf("a fresh node has something to say:\n%s", out)
	}
}

// mountsAtBoot uses a volume from fstab, and sees what a node may not do.
func (f *failover) mountsAtBoot() {
	f.Helper()
	f.on("n1", `systemctl start rvol-attach@fs && mkfs.ext4 -q /dev/rvol/fs && mkdir -p /srv/fs
		echo '/dev/rvol/fs /srv/fs ext4 _netdev,nofail,x-systemd.requires=rvol-attach@fs.service 0 0' >>/etc/fstab
		systemctl daemon-reload && systemctl start srv-fs.mount && echo before >/srv/fs/data && sync -f /srv/fs/data`)
	for node, says := range map[string]string{"n2": "in use on node n1", "n3": "has no replica of it"} {
		if _, err := f.On(f.Context(), node, "rvol-agent attach fs"); err == nil || !strings.Contains(err.Error(), says) {
			f.Errorf("attach on %s: %v, want %q", node, err, says)
		}
	}
}

// kernelSays is what DRBD has said on a node.
func (f *failover) kernelSays(node string) string {
	f.Helper()
	return f.on(node, "journalctl -k -o cat --no-pager | grep -E 'drbd .*(rvol-|drbd[0-9])' || true")
}

// upgradesUnderAWriter replaces the packages of all nodes while one writes: the kernel notices nothing of it.
func (f *failover) upgradesUnderAWriter() {
	f.Helper()
	f.rvol("volume attach db-1 n1 --wait")
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	w := f.write(ctx, "n1")
	w.reaches(f.T, f.last+20)
	before := map[string]string{}
	for _, n := range f.Nodes {
		before[n] = f.kernelSays(n)
	}
	for _, n := range f.Nodes {
		f.on(n, "dpkg -i /opt/rvol/new/*.deb >/run/dpkg.log 2>&1 || { cat /run/dpkg.log >&2; exit 1; }; systemctl is-active rvol-agent rvol-coordinator")
		last, _ := w.reached()
		w.reaches(f.T, last+20)
		if got := f.on(n, "/proc/$(systemctl show -P MainPID rvol-agent)/exe version"); !strings.Contains(got, "0.0.2") {
			f.Errorf("%s runs %s after the upgrade", n, got)
		}
	}
	f.eventually(`n1 .*Ready`, "node list")
	f.eventually(`(?s)n1.*n2.*n3`, "node list")
	last, _ := w.reached()
	w.reaches(f.T, last+20)
	for _, n := range f.Nodes {
		if after := f.kernelSays(n); after != before[n] {
			f.Errorf("DRBD noticed the upgrade on %s:\n%s", n, strings.TrimPrefix(after, before[n]))
		}
	}
	cancel()
	f.last = w.end()
	f.stopWriting("n1")
	f.check("n1")
	f.rvol("volume detach db-1 n1 --wait")
}

// keepsSecrets looks for the volumes' secrets in the logs of this boot, whose daemons say everything, in command lines, and in files
// that others may read.
func (f *failover) keepsSecrets() {
	f.Helper()
	f.on("n1", `sed -n 's/.*shared-secret "\(.*\)";.*/\1/p' /etc/drbd.d/rvol/*.res | sort -u >/run/secrets
		[ $(wc -w </run/secrets) = 2 ] || { echo "there are not two secrets" >&2; exit 1; }
		if journalctl -b --no-pager | grep -F -f /run/secrets >&2; then exit 1; fi
		if cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -F -f /run/secrets >&2; then exit 1; fi
		if find /etc/drbd.d/rvol /var/lib/rvol -type f -perm /077 | grep . >&2; then exit 1; fi
		rm /run/secrets`)
}

// rebootsWithItsMount boots the node that has a mount in its fstab. Down it goes in order: the volume is not in use while it is off.
func (f *failover) rebootsWithItsMount() {
	f.Helper()
	if err := f.World.Stop(f.Context(), "n1"); err != nil {
		f.Fatal(err)
	}
	f.eventually(`n1 +NotReady`, "node list")
	if out := f.rvol("attachment list"); strings.Contains(out, "fs/n1") {
		f.Errorf("still attached on a node that was shut down:\n%s", out)
	}
	begun := time.Now()
	if err := f.World.Start(f.Context(), "n1"); err != nil {
		f.Fatal(err)
	}
	f.eventually(`fs/n1 +Ready`, "attachment list")
	f.on("n1", `for i in $(seq 300); do systemctl -q is-active srv-fs.mount && break; sleep 0.2; done
		systemctl is-active srv-fs.mount && grep -qx before /srv/fs/data && findmnt -no SOURCE /srv/fs`)
	f.Logf("mounted %.1f s after the boot began", time.Since(begun).Seconds())
}

// removalLeavesEverything removes and purges the packages of the node that uses a volume: it goes on.
func (f *failover) removalLeavesEverything() {
	f.Helper()
	f.eventually(`(?m)^fs .*ready`, "volume list")
	held := "lvs --noheadings -o lv_name,lv_uuid; find /var/lib/rvol /etc/drbd.d/rvol -type f ! -name '.*'"
	before := strings.Split(f.on("n1", held), "\n")
	f.on("n1", "dpkg -r rvol-agent rvol-coordinator rvol >/run/dpkg.log 2>&1 && dpkg -P rvol-agent rvol-coordinator rvol >>/run/dpkg.log 2>&1 || { cat /run/dpkg.log >&2; exit 1; }")
	f.on("n1", `if pidof rvol-agent rvol-coordinator || [ -e /usr/bin/rvol-agent ]; then echo "rvol is still there" >&2; exit 1; fi
		echo after >/srv/fs/data && sync -f /srv/fs/data
		drbdsetup status | grep -A9 rvol-fs`)
	after := strings.Split(f.on("n1", held), "\n")
	for _, one := range before { // the daemons may have written something new before they ended
		if !slices.Contains(after, one) {
			f.Errorf("the removal took %q", one)
		}
	}
}
