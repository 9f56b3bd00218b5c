package resync_test

import (
	"strings"
	"testing"
	"time"

	"rvol/coordinator/decide/resync"
	"rvol/drbd"
)

func TestACopyThatDoesNotGetOnIsTold(t *testing.T) {
	t.Parallel()
	filling := resync.Copy{Replica: "db/1", Node: "n2", Resource: "rvol-db", State: drbd.SyncTarget, Percent: 12.34}
	with := func(change func(*resync.Copy)) resync.Copy {
		c := filling
		change(&c)
		return c
	}
	for _, tc := range []struct {
		name   string
		copies []resync.Copy
		reason string
		says   []string
	}{
		{"nothing is being filled", nil, "", nil},
		{"it gets on", []resync.Copy{filling}, "", nil},
		{"not for long", []resync.Copy{with(func(c *resync.Copy) { c.Still = resync.Patience - time.Second })}, "", nil},
		{
			"for long: the second of two",
			[]resync.Copy{filling, with(func(c *resync.Copy) { c.Still, c.Device = resync.Patience, 1 })},
			resync.NoProgress,
			[]string{"device 1 of replica db/1 on node n2: nothing was copied for 10m0s, 12.3 % are", "drbdadm disconnect rvol-db", "the network of n2"},
		},
		{
			"paused",
			[]resync.Copy{with(func(c *resync.Copy) { c.Still, c.State = time.Hour, drbd.PausedSyncT })},
			resync.Paused,
			[]string{"drbdadm resume-sync rvol-db` on n2"},
		},
		{
			"done, and the source has not noticed",
			[]resync.Copy{with(func(c *resync.Copy) { c.Still, c.State = resync.Patience, drbd.SyncSource })},
			resync.Unnoticed,
			[]string{"`drbdadm pause-sync rvol-db`, then `drbdadm resume-sync rvol-db` on the other's node"},
		},
	} {
		reason, message := resync.Judge(tc.copies)
		if reason != tc.reason {
			t.Errorf("%s: reason %q, want %q", tc.name, reason, tc.reason)
		}
		for _, s := range tc.says {
			if !strings.Contains(message, s) {
				t.Errorf("%s: says %q, want %q in it", tc.name, message, s)
			}
		}
	}
	for c, want := range map[struct {
		s    drbd.ReplState
		left int64
	}]bool{
		{drbd.SyncTarget, 1}: true, {drbd.SyncTarget, 0}: true, {drbd.PausedSyncT, 1}: true,
		{drbd.SyncSource, 1}: false, {drbd.SyncSource, 0}: true, {drbd.Established, 0}: false,
	} {
		if resync.Follows(c.s, c.left) != want {
			t.Errorf("%s with %d bytes left is followed: %v", c.s, c.left, !want)
		}
	}
}
