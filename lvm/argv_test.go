package lvm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someUUID = "GZckzC-sG8B-jsBb-fqDD-GKhX-QZD7-WyewIh"

func TestCommandLines(t *testing.T) {
	spec := LVSpec{VG: "vg0", Name: "rvol-db.0.1", Size: 10000384, Tags: []string{"rvol.cluster=c1", "rvol.reservation=r1"}}
	poolSpec := LVSpec{VG: "vg0", Name: "tp", Size: 104857600}
	allFree := LVSpec{VG: "vg0", Name: "tp", Size: AllFree}
	tests := []struct {
		name string
		do   func(context.Context, *Tool) error
		want string // arguments separated by a bar
	}{
		{
			"a volume group", func(ctx context.Context, l *Tool) error { return l.VGCreate(ctx, "vg0", "/dev/sdb", "a", "b") },
			"vgcreate|--addtag|a|--addtag|b|vg0|/dev/sdb",
		},
		{"a disk named by its id", func(ctx context.Context, l *Tool) error {
			return l.VGCreate(ctx, "vg0", "/dev/disk/by-id/nvme-eui.00a0:1+2")
		}, "vgcreate|vg0|/dev/disk/by-id/nvme-eui.00a0:1+2"},
		{
			"activation of a group", func(ctx context.Context, l *Tool) error { return l.VGActivate(ctx, "vg0") },
			"vgchange|--activate|ay|vg0",
		},
		{
			"a thick volume", func(ctx context.Context, l *Tool) error { return l.LVCreate(ctx, spec) },
			"lvcreate|--yes|--wipesignatures|y|--zero|y|--addtag|rvol.cluster=c1|--addtag|rvol.reservation=r1|--size|10000384b|--name|rvol-db.0.1|vg0",
		},
		{
			"a thin volume", func(ctx context.Context, l *Tool) error { return l.ThinCreate(ctx, "tp", spec) },
			"lvcreate|--yes|--type|thin|--addtag|rvol.cluster=c1|--addtag|rvol.reservation=r1|--virtualsize|10000384b|--thinpool|tp|--name|rvol-db.0.1|vg0",
		},
		{
			"a thin pool", func(ctx context.Context, l *Tool) error { return l.ThinPoolCreate(ctx, poolSpec) },
			"lvcreate|--yes|--type|thin-pool|--zero|y|--config|activation/error_when_full=1|--size|104857600b|--name|tp|vg0",
		},
		{
			"a thin pool of all that is free", func(ctx context.Context, l *Tool) error { return l.ThinPoolCreate(ctx, allFree) },
			"lvcreate|--yes|--type|thin-pool|--zero|y|--config|activation/error_when_full=1|--extents|100%FREE|--name|tp|vg0",
		},
		{
			"growth", func(ctx context.Context, l *Tool) error { return l.LVExtend(ctx, "vg0", "rvol-db.0.1", 512) },
			"lvextend|--size|512b|vg0/rvol-db.0.1",
		},
		{
			"removal", func(ctx context.Context, l *Tool) error {
				return l.LVRemove(ctx, "vg0", "rvol-db.0.1", someUUID, "a", "b=c")
			},
			`lvremove|--yes|--select|lv_uuid="` + someUUID + `" && lv_tags="a" && lv_tags="b=c"|vg0/rvol-db.0.1`,
		},
		{
			"activation", func(ctx context.Context, l *Tool) error { return l.LVActivate(ctx, "vg0", "rvol-db.0.1") },
			"lvchange|--activate|y|vg0/rvol-db.0.1",
		},
		{
			"deactivation", func(ctx context.Context, l *Tool) error { return l.LVDeactivate(ctx, "vg0", "rvol-db.0.1") },
			"lvchange|--activate|n|vg0/rvol-db.0.1",
		},
		{
			"a tag taken off", func(ctx context.Context, l *Tool) error { return l.LVUntag(ctx, "vg0", "rvol-db.0.1", "a") },
			"lvchange|--deltag|a|vg0/rvol-db.0.1",
		},
		{
			"signatures", func(ctx context.Context, l *Tool) error { _, err := l.Signatures(ctx, "/dev/sdb"); return err },
			"wipefs|--json|/dev/sdb",
		},
		{
			"discarding", func(ctx context.Context, l *Tool) error { return l.Discard(ctx, "/dev/vg0/rvol-db.0.1") },
			"blkdiscard|/dev/vg0/rvol-db.0.1",
		},
		{
			"zeroing", func(ctx context.Context, l *Tool) error { return l.ZeroOut(ctx, "/dev/vg0/rvol-db.0.1") },
			"blkdiscard|--zeroout|/dev/vg0/rvol-db.0.1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var n notebook
			if err := tt.do(t.Context(), New(n.run)); !errors.Is(err, errNoRun) {
				t.Errorf("error of the Runner is lost: %v", err)
			}
			if diff := cmp.Diff(strings.Split(tt.want, "|"), n.argv); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReportAsksAsRecorded(t *testing.T) {
	for name, vgs := range map[string][]string{"fullreport": nil, "fullreport-missing-group": {"vg1", "vgX"}} {
		var n notebook
		_, _ = New(n.run).Report(t.Context(), vgs...)
		command := strings.ReplaceAll(readRecording(t, name).command, "'", "")
		if diff := cmp.Diff(command, strings.Join(n.argv, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBadArgumentsRunNothing(t *testing.T) {
	ok := LVSpec{VG: "vg0", Name: "rvol-db.0.1", Size: 4096, Tags: []string{"a"}}
	with := func(change func(*LVSpec)) LVSpec {
		s := ok
		change(&s)
		return s
	}
	create := func(s LVSpec) func(context.Context, *Tool) error {
		return func(ctx context.Context, l *Tool) error { return l.LVCreate(ctx, s) }
	}
	tests := map[string]func(context.Context, *Tool) error{
		"no size":               create(with(func(s *LVSpec) { s.Size = 0 })),
		"a negative size":       create(with(func(s *LVSpec) { s.Size = -512 })),
		"half a sector":         create(with(func(s *LVSpec) { s.Size = 4097 })),
		"an option for a name":  create(with(func(s *LVSpec) { s.Name = "--force" })),
		"no name":               create(with(func(s *LVSpec) { s.Name = "" })),
		"a path for a name":     create(with(func(s *LVSpec) { s.Name = "../vg1/data" })),
		"a newline in a name":   create(with(func(s *LVSpec) { s.Name = "a\nb" })),
		"an option for a group": create(with(func(s *LVSpec) { s.VG = "-y" })),
		"a quote in a tag":      create(with(func(s *LVSpec) { s.Tags = []string{`a" || lv_name!="`} })),
		"an empty tag":          create(with(func(s *LVSpec) { s.Tags = []string{""} })),
		"a space in a pool":     func(ctx context.Context, l *Tool) error { return l.ThinCreate(ctx, "a b", ok) },
		"a thin volume of nothing": func(ctx context.Context, l *Tool) error {
			return l.ThinCreate(ctx, "tp", with(func(s *LVSpec) { s.Size = 0 }))
		},
		"a pool of half a sector": func(ctx context.Context, l *Tool) error {
			return l.ThinPoolCreate(ctx, with(func(s *LVSpec) { s.Size = 1 }))
		},
		"growth to nothing":       func(ctx context.Context, l *Tool) error { return l.LVExtend(ctx, "vg0", "a", 0) },
		"removal by name alone":   func(ctx context.Context, l *Tool) error { return l.LVRemove(ctx, "vg0", "a", "", "t") },
		"removal by a wild UUID":  func(ctx context.Context, l *Tool) error { return l.LVRemove(ctx, "vg0", "a", `" || lv_name!="x`, "t") },
		"removal by a wild tag":   func(ctx context.Context, l *Tool) error { return l.LVRemove(ctx, "vg0", "a", someUUID, `"`) },
		"a group of no device":    func(ctx context.Context, l *Tool) error { return l.VGCreate(ctx, "vg0", "sdb") },
		"a device outside /dev":   func(ctx context.Context, l *Tool) error { return l.VGCreate(ctx, "vg0", "/dev/../etc/passwd") },
		"signatures of an option": func(ctx context.Context, l *Tool) error { _, err := l.Signatures(ctx, "--all"); return err },
		"zeroing of a folder up":  func(ctx context.Context, l *Tool) error { return l.ZeroOut(ctx, "/dev/vg0/../sda") },
		"discarding of a space":   func(ctx context.Context, l *Tool) error { return l.Discard(ctx, "/dev/a b") },
		"a report on an option":   func(ctx context.Context, l *Tool) error { _, err := l.Report(ctx, "--all"); return err },
		"activation of an option": func(ctx context.Context, l *Tool) error { return l.LVActivate(ctx, "vg0", "--all") },
		"deactivation of nothing": func(ctx context.Context, l *Tool) error { return l.LVDeactivate(ctx, "vg0", "") },
		"a group of two words":    func(ctx context.Context, l *Tool) error { return l.VGActivate(ctx, "vg0 vg1") },
		"a tag with a comma":      func(ctx context.Context, l *Tool) error { return l.LVUntag(ctx, "vg0", "a", "b,c") },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			var n notebook
			if err := do(t.Context(), New(n.run)); !errors.Is(err, ErrBadArgument) {
				t.Errorf("got %v, want ErrBadArgument", err)
			}
			if n.argv != nil {
				t.Errorf("ran %q", n.argv)
			}
		})
	}
}
