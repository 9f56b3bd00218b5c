package drbd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
)

func TestParseRecordedCommands(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{"8.4.11/017-", "8.4.11/018-", "9.3.3/123-", "9.3.3/124-", "9.3.3/133-", "9.3.3/791-", "9.3.3/1100-"} {
		commands, err := drbd.ParseCommands(record(t, name).stdout)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, "== %s\n", name)
		for _, c := range commands {
			fmt.Fprintf(&b, "%-9s %-19s %q\n", c.Tool, c.Verb, c.Args)
			if loss := c.Loss(nil); loss != "" {
				t.Errorf("%s: %s: taken for a loss: %s", name, c, loss)
			}
		}
	}
	golden(t, "golden/commands.txt", b.String())
	if strings.Contains(b.String(), "s3cr3t") {
		t.Error("a secret is shown")
	}
}

func TestLoss(t *testing.T) {
	sizes := map[drbd.Minor]int64{1000: 1 << 30}
	for line, want := range map[string]string{
		"drbdsetup connect r0 1":                                          "",
		"drbdsetup disconnect r0 1":                                       "",
		"drbdsetup resize 1000":                                           "",
		"drbdsetup resize 1000 --size=2097152":                            "",
		"drbdsetup resize 1000 --size=1G":                                 "",
		"drbdsetup resize 1000 --size=2097152s":                           "",
		"drbdsetup resize 1000 --size=1023M":                              "shrinks a device from 1073741824 to 1072693248 bytes",
		"drbdsetup resize 1000 --size=1048575":                            "shrinks a device from 1073741824 to 1073740800 bytes",
		"drbdsetup resize 1001 --size=1G":                                 "sets a size: --size=1G",
		"drbdsetup resize 1000 --size=much":                               "sets a size: --size=much",
		"drbdsetup resize 1000 --size=":                                   "sets a size: --size=",
		"drbdsetup del-peer r0 1":                                         "removes a peer",
		"drbdsetup detach 1000":                                           "takes the disk from a device",
		"/usr/sbin/drbdsetup-84 down r0":                                  "takes a device down",
		"drbdsetup del-minor 1000":                                        "takes a device down",
		"drbdsetup del-resource r0":                                       "takes a device down",
		"drbdsetup invalidate 1000":                                       "unknown command invalidate",
		"drbdsetup primary r0 --force":                                    "unknown command primary",
		"drbdmeta 1000 v09 /dev/vg0/r0 internal apply-al":                 "",
		"drbdmeta 1000 v09 /dev/vg0/r0 internal create-md 7 --force":      "unknown command create-md",
		"drbdsetup new-peer r0 1 --_name=b --shared-secret=hush --tls=no": "",
	} {
		commands, err := drbd.ParseCommands([]byte(line))
		if err != nil || len(commands) != 1 {
			t.Fatalf("%s: %d commands, %v", line, len(commands), err)
		}
		if diff := cmp.Diff(want, commands[0].Loss(sizes)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
		if strings.Contains(commands[0].String(), "hush") {
			t.Errorf("%s shows the secret", commands[0])
		}
	}
}

func TestParseCommandsRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{"rm -rf /", "drbdsetup", "drbdmeta 1000 v09", "drbdsetup connect r0 1\nIP not found\n"} {
		if c, err := drbd.ParseCommands([]byte(text)); !errors.Is(err, drbd.ErrGarbage) {
			t.Errorf("%q: got %v, %v", text, c, err)
		}
	}
}
