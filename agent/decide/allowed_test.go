package decide_test

import (
	"strings"
	"testing"

	"rvol/agent/decide"
	"rvol/drbd"
)

func TestAnAdjustTakesAwayOnlyWhatTheOrderNoLongerHolds(t *testing.T) {
	allowed := decide.Allowed{
		Peers: []drbd.NodeID{1}, Minors: []drbd.Minor{10000, 10001}, Disks: []drbd.Minor{10000},
		Sizes: map[drbd.Minor]int64{10000: 16 << 20},
	}
	for _, c := range []struct{ name, commands, refused string }{
		{"adding and tuning", "drbdsetup new-peer rvol-db 2 --_name=c\ndrbdsetup net-options rvol-db 1 --ping-int=5", ""},
		{"a peer that left the order", "drbdsetup del-peer rvol-db 2", ""},
		{"a peer of the order", "drbdsetup del-peer rvol-db 1", "removes a peer"},
		{"the disk of a replica that became diskless", "drbdsetup detach 10001", ""},
		{"a disk of the order", "drbdsetup detach 10000", "takes the disk"},
		{"a device that left the order", "drbdsetup del-minor 10002", ""},
		{"a device of the order", "drbdsetup del-minor 10001", "takes a device down"},
		{"down, whatever is ordered", "drbdsetup down rvol-db", "takes a device down"},
		{"growing", "drbdsetup resize 10000 --size=32768", ""},
		{"shrinking", "drbdsetup resize 10000 --size=8192", "shrinks"},
		{"a verb that nobody knows", "drbdsetup explode 10000", "unknown command"},
		{"the last of many", "drbdsetup connect rvol-db 1\ndrbdsetup del-peer rvol-db 1", "removes a peer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			commands, err := drbd.ParseCommands([]byte(c.commands))
			if err != nil {
				t.Fatal(err)
			}
			got := allowed.Check("rvol-db", commands)
			switch {
			case c.refused == "" && got != nil:
				t.Errorf("refused: %v", got)
			case c.refused != "" && (got == nil || !got.Definite || !strings.Contains(got.Text, c.refused)):
				t.Errorf("got %v, want a refusal because it %s", got, c.refused)
			}
		})
	}
}
