package drbd_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// down runs one command that ends as a recording did.
func down(t *testing.T, run drbd.Runner) error {
	t.Helper()
	return drbd.New(run, drbdtest.V9).Detach(t.Context(), 0)
}

func TestRecordedRefusals(t *testing.T) {
	for name, want := range map[string]error{
		"8.4.11/010-": drbd.ErrUnknownResource,
		"8.4.11/054-": drbd.ErrOtherPrimary,
		"8.4.11/056-": drbd.ErrHeldOpen,
		"8.4.11/057-": drbd.ErrHeldOpen,
		"8.4.11/062-": drbd.ErrUsage,
		"8.4.11/064-": drbd.ErrUsage,
		"8.4.11/067-": drbd.ErrUsage,
		"8.4.11/084-": drbd.ErrUsage,
		"8.4.11/089-": drbd.ErrNoConnection,
		"8.4.11/122-": drbd.ErrResync,
		"8.4.11/144-": drbd.ErrNoMetadata,
		"8.4.11/146-": drbd.ErrNoUpToDate,
		"8.4.11/206-": drbd.ErrNoUpToDate,
		"8.4.11/212-": drbd.ErrAlreadyAttached,
		"9.3.3/003-":  drbd.ErrUsage,
		"9.3.3/011-":  drbd.ErrUnknownResource,
		"9.3.3/015-":  drbd.ErrNotDefined,
		"9.3.3/1087-": drbd.ErrDiskIO,
		"9.3.3/1088-": drbd.ErrDiskIO,
		"9.3.3/112-":  drbd.ErrNoMetadata,
		"9.3.3/1159-": drbd.ErrNoDisk,
		"9.3.3/1160-": drbd.ErrNoMetadata,
		"9.3.3/1161-": drbd.ErrNoMetadata,
		"9.3.3/1162-": drbd.ErrTooSmall,
		"9.3.3/1165-": drbd.ErrAlreadyAttached,
		"9.3.3/1206-": drbd.ErrAlreadyConnected,
		"9.3.3/1284-": drbd.ErrNoUpToDate,
		"9.3.3/130-":  drbd.ErrAlreadyUp,
		"9.3.3/131-":  drbd.ErrAlreadyAttached,
		"9.3.3/156-":  drbd.ErrNotDefined,
		"9.3.3/157-":  drbd.ErrUnknownResource,
		"9.3.3/160-":  drbd.ErrUnknownMinor,
		"9.3.3/177-":  drbd.ErrUsage,
		"9.3.3/241-":  drbd.ErrNoUpToDate,
		"9.3.3/242-":  drbd.ErrNotFresh,
		"9.3.3/280-":  drbd.ErrOtherPrimary,
		"9.3.3/285-":  drbd.ErrHeldOpen,
		"9.3.3/290-":  drbd.ErrStillUp,
		"9.3.3/315-":  drbd.ErrNoQuorum,
		"9.3.3/720-":  nil, // exit 11 and not a word
		"9.3.3/968-":  nil, // (-17) Peer does not support protocol

		"utils-9.22.0/01-": drbd.ErrNoModule,
		"utils-9.22.0/02-": drbd.ErrConfig,
		"utils-9.22.0/03-": drbd.ErrConfig,
		"utils-9.22.0/04-": drbd.ErrNoDisk,
		"utils-9.22.0/05-": drbd.ErrNoMetadata,
		"utils-9.22.0/12-": drbd.ErrNoModule,
	} {
		r := record(t, name)
		var ran []string
		err := down(t, answers(r, &ran))
		refusal, ok := errors.AsType[*drbd.Error](err)
		if !ok || refusal.Kind != want || refusal.Code != r.exit { //nolint:errorlint // the field itself is meant
			t.Errorf("%s: %s: got %v, want exit status %d: %v", name, r.command, err, r.exit, want)
		}
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v is not %v", name, err, want)
		}
	}
}

// Several commands and their refusals in one recording.
func TestRefusalsWithinRecordings(t *testing.T) {
	for text, want := range map[string]error{
		"r0: Failure: (130) Resize not allowed during resync.":                                                           drbd.ErrResync,
		"r0: Failure: (125) Device has a net-config (use disconnect first)":                                              drbd.ErrAlreadyConnected,
		"r1: Failure: (173) Combination of local address(port) and remote address(port) already in use":                  drbd.ErrAddressInUse,
		"0: Failure: (151) Need to be StandAlone":                                                                        drbd.ErrNotFresh,
		"0: State change failed: (-15) Need a connection to start verify or resync":                                      drbd.ErrNoConnection,
		"r0: Failure: (134) Sync-pause flag is already set":                                                              drbd.ErrAlreadyPaused,
		"0: Failure: (132) Sync-after minor is unknown":                                                                  nil,
		"Found meta data is \"unclean\", please apply-al first":                                                          drbd.ErrUncleanMetadata,
		"Could not connect to 'drbd' generic netlink family":                                                             drbd.ErrNoModule,
		"\t==> Make sure that the DRBD kernel module is installed and can be loaded":                                     drbd.ErrNoModule,
		"/etc/drbd.d/r0.res:1: in resource r0, on n1:\n\tIP 10.77.0.1 not found on this host.":                           drbd.ErrNoAddress,
		"open(/dev/vg0/r0) failed: No such file or directory\nCommand 'drbdmeta 0 v08 ...' terminated with exit code 20": drbd.ErrNoDisk,
	} {
		if errs := []error{kind(t, 10, text)}; errs[0] != want { //nolint:errorlint // the sentinel itself is meant
			t.Errorf("%q: got %v, want %v", text, errs[0], want)
		}
	}
}

func kind(t *testing.T, code int, text string) error {
	t.Helper()
	var ran []string
	refusal, ok := errors.AsType[*drbd.Error](down(t, answers(recording{exit: code, stderr: []byte(text)}, &ran)))
	if !ok {
		t.Fatalf("%q: no refusal", text)
	}
	return refusal.Kind
}

func TestOpenersAreNamed(t *testing.T) {
	var ran []string
	err := fmt.Errorf("detach db-1: %w", down(t, answers(record(t, "9.3.3/285-"), &ran)))
	want := []drbd.Opener{{Device: "drbd1000", Process: "mount", PID: 443}}
	if diff := cmp.Diff(want, drbd.Openers(err)); diff != "" {
		t.Error(diff)
	}
	if got := drbd.Openers(down(t, answers(record(t, "8.4.11/056-"), &ran))); got != nil {
		t.Errorf("DRBD 8.4 names nobody: got %v", got)
	}
	if got := drbd.Openers(errors.New("other")); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestMissingToolAndEndedContext(t *testing.T) {
	missing := func(context.Context, ...string) ([]byte, error) {
		return nil, fmt.Errorf("start drbdsetup: %w", fs.ErrNotExist)
	}
	if err := down(t, missing); !errors.Is(err, drbd.ErrToolMissing) {
		t.Errorf("got %v, want ErrToolMissing", err)
	}
	late := func(context.Context, ...string) ([]byte, error) { return nil, context.DeadlineExceeded }
	if err := down(t, late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
}

func TestErrorsShowNoSecret(t *testing.T) {
	var ran []string
	for _, text := range []string{
		"r0: Failure: (125) x\nCommand 'drbdsetup new-peer r0 1 --_name=n2 --shared-secret=hush-hush --protocol=C' terminated with exit code 10",
		`/etc/drbd.d/r0.res:9: Parse error: 'shared-secret "hush-hush";' unexpected`,
	} {
		err := down(t, answers(recording{exit: 10, stderr: []byte(text)}, &ran))
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hush") {
			t.Errorf("the secret is shown: %v", err)
		}
	}
}
