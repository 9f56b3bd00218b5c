package drbd_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestDetect(t *testing.T) {
	for name, want := range map[string]drbd.Version{"8.4.11/005-": drbdtest.V84, "9.3.3/001-": drbdtest.V9} {
		var ran []string
		got, err := drbd.Detect(t.Context(), answers(record(t, name), &ran))
		if err != nil || got != want || ran[0] != "drbdadm --version" {
			t.Errorf("%s: got %v, %v from %q, want %v", name, got, err, ran, want)
		}
	}
	missing := func(context.Context, ...string) ([]byte, error) { return nil, fmt.Errorf("start: %w", fs.ErrNotExist) }
	if _, err := drbd.Detect(t.Context(), missing); !errors.Is(err, drbd.ErrToolMissing) {
		t.Errorf("got %v, want ErrToolMissing", err)
	}
}

func TestVersion(t *testing.T) {
	unloaded, err := drbd.ParseVersion([]byte("DRBD_KERNEL_VERSION_CODE=0x000000\nDRBDADM_VERSION_CODE=0x091600\n"))
	if err != nil || unloaded.Loaded() || unloaded.Is84() {
		t.Errorf("without module: got %v, %v", unloaded, err)
	}
	for v, want := range map[drbd.Version]string{
		drbdtest.V84: "DRBD 8.4.11, drbd-utils 9.22.0",
		drbdtest.V9:  "DRBD 9.3.3, drbd-utils 9.22.0",
		unloaded:     "DRBD not loaded, drbd-utils 9.22.0",
	} {
		if got := v.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, text := range []string{"", "DRBDADM_VERSION_CODE=nine\n", "DRBD_KERNEL_VERSION_CODE=0x090303\n"} {
		if v, err := drbd.ParseVersion([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, v)
		}
	}
}

func TestAtLeast(t *testing.T) {
	n := drbd.Number{Major: 9, Minor: 3, Patch: 3}
	for _, c := range []struct {
		major, minor, patch int
		want                bool
	}{{9, 3, 3, true}, {9, 3, 2, true}, {9, 2, 19, true}, {8, 99, 99, true}, {9, 3, 4, false}, {9, 4, 0, false}, {10, 0, 0, false}} {
		if got := n.AtLeast(c.major, c.minor, c.patch); got != c.want {
			t.Errorf("%s at least %d.%d.%d: %t", n, c.major, c.minor, c.patch, got)
		}
	}
}
