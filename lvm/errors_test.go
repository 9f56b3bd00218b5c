package lvm

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefusalsOfRealTools(t *testing.T) {
	tests := []struct {
		recording string
		want      Error
	}{
		{"lvcreate-no-space", Error{Reason: ErrNoSpace, Needed: 2560, Free: 124}},
		{"lvcreate-exists", Error{Reason: ErrExists}},
		{"lvcreate-no-group", Error{Reason: ErrNotFound}},
		{"lvcreate-odd-size", Error{Reason: ErrBadArgument}},
		{"lvcreate-too-large", Error{Reason: ErrBadArgument}},
		{"lvcreate-partial", Error{Reason: ErrPartial}},
		{"lvextend-no-space", Error{Reason: ErrNoSpace, Needed: 2557, Free: 124}},
		{"lvextend-same-size", Error{Reason: ErrSameSize}},
		{"lvextend-smaller", Error{Reason: ErrNotLarger}},
		{"lvextend-no-volume", Error{Reason: ErrNotFound}},
		{"lvextend-partial", Error{Reason: ErrPartial}},
		{"lvremove-no-volume", Error{Reason: ErrNotFound}},
		{"lvremove-mounted", Error{Reason: ErrInUse}},
		{"lvremove-open", Error{Reason: ErrInUse}},
		{"lvchange-mounted", Error{Reason: ErrInUse}},
		{"lvchange-no-volume", Error{Reason: ErrNotFound}},
		{"lvchange-partial", Error{Reason: ErrPartial}},
		{"lvpool-exists", Error{Reason: ErrExists}},
		{"lvpool-no-space", Error{Reason: ErrNoSpace, Needed: 2500, Free: 95}},
		{"lvthin-no-pool", Error{Reason: ErrNotFound}},
		{"lvthin-not-a-pool", Error{Reason: ErrBadArgument}},
		{"lvthin-pool-full", Error{Reason: ErrPoolFull}},
		{"vgcreate-exists", Error{Reason: ErrExists}},
		{"vgcreate-name-exists", Error{Reason: ErrExists}},
		{"vgcreate-device-in-use", Error{Reason: ErrInUse}},
		{"vgcreate-mounted", Error{Reason: ErrInUse}},
		{"vgcreate-no-device", Error{Reason: ErrNotFound}},
		{"vgcreate-signature", Error{Reason: ErrSignature}},
		{"vgchange-partial", Error{Reason: ErrPartial}},
		{"fullreport-missing-group", Error{Reason: ErrNotFound}},
		{"wipefs-no-device", Error{Reason: ErrNotFound}},
		{"blkdiscard-mounted", Error{Reason: ErrInUse}},
		{"blkdiscard-no-device", Error{Reason: ErrNotFound}},
	}
	for _, version := range versions {
		for _, tt := range tests {
			t.Run(version+" "+tt.recording, func(t *testing.T) {
				r := readVersion(t, version, tt.recording)
				got := newError("", "", replayed{r})
				if !errors.Is(got, tt.want.Reason) {
					t.Fatalf("got %v, want %v", got, tt.want.Reason)
				}
				if got.Needed != tt.want.Needed || got.Free != tt.want.Free || got.ExitCode != r.code {
					t.Errorf("got %+v", got)
				}
				if got.Stderr == "" {
					t.Error("what the tool said is lost")
				}
			})
		}
	}
}

func TestErrorSaysObjectReasonAndWords(t *testing.T) {
	_, runError := readRecording(t, "lvcreate-no-space").run(t.Context())
	err := newError("lvcreate", "vg0/rvol-db.0.2", runError)
	want := `lvcreate vg0/rvol-db.0.2: not enough free space: 2560 extents needed, 124 free: ` +
		`Volume group "vg0" has insufficient free space (124 extents): 2560 required.`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAreNoReason(t *testing.T) {
	_, runError := readRecording(t, "lvcreate-partial").run(t.Context())
	err := newError("lvcreate", "vg0/new", runError)
	want := "lvcreate vg0/new: physical volumes are missing: Cannot change VG vg0 while PVs are missing.; " +
		"See vgreduce --removemissing and vgextend --restoremissing.; Cannot process volume group vg0"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestOtherErrorsPassThrough(t *testing.T) {
	unnamed := replayed{recording{code: 5, stderr: "  Something new went wrong.\n"}}
	tests := []struct {
		name   string
		run    error
		reason error
		want   string
	}{
		{"a refusal without a name", unnamed, nil, "lvcreate vg0/a: Something new went wrong."},
		{"a bad command line without a name", replayed{recording{code: 3, stderr: "  Unknown option.\n"}}, ErrBadArgument, "lvcreate vg0/a: bad argument: Unknown option."},
		{
			"a tool that is missing", &fs.PathError{Op: "run", Path: "lvcreate", Err: fs.ErrNotExist}, ErrToolMissing,
			"lvcreate vg0/a: tool is not installed: run lvcreate: file does not exist",
		},
		{"a tool that was ended", errNoRun, nil, "lvcreate vg0/a: nothing is run here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := newError("lvcreate", "vg0/a", tt.run)
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			if !errors.Is(err, tt.run) {
				t.Error("the Runner's error is lost")
			}
			if tt.reason != nil && !errors.Is(err, tt.reason) {
				t.Errorf("it is not %v", tt.reason)
			}
		})
	}
}

func TestGrowingToTheSameSizeIsNoError(t *testing.T) {
	for _, version := range versions {
		l := New(readVersion(t, version, "lvextend-same-size").run)
		if err := l.LVExtend(t.Context(), "vg0", "rvol-db.0.1", 12<<20); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}
