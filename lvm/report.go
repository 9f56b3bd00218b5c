package lvm

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Report is what LVM holds, seen in one run of one command.
type Report struct {
	VGs []VG // sorted by name, then UUID
	LVs []LV // sorted by group, then name; hidden ones are left out
	PVs []PV // sorted by name, then UUID
}

// A VG is a volume group.
type VG struct {
	Name        string
	UUID        string
	Size        int64 // bytes
	Free        int64 // bytes
	ExtentSize  int64 // bytes
	Extents     int64
	FreeExtents int64
	MissingPVs  int  // physical volumes that LVM cannot find
	Partial     bool // MissingPVs > 0
	Writable    bool
	Exported    bool // vgexport was run: nothing in it can be used
	PVCount     int
	LVCount     int // those in Report.LVs
	Tags        []string
	SeqNo       int64 // raised by each change of metadata
}

// An LV is a logical volume: thick, thin, thin pool, snapshot or another kind.
type LV struct {
	Name     string
	UUID     string
	VG       string
	VGUUID   string
	Size     int64 // bytes
	Tags     []string
	Layout   []string // "linear"; "thin","pool"; "thin","sparse" ...
	Roles    []string // "public"; "private"; "origin","thickorigin" ...
	Path     string   // "" for pools and what else has no device node
	Active   bool
	Open     bool   // held open; also when LVM cannot tell of an active volume
	Partial  bool   // some of its extents are on a missing physical volume
	Health   string // "", "partial", "out_of_data", "metadata_read_only", "failed" ...
	Pool     string // thin volumes: name of the pool
	PoolUUID string
	Origin   string // snapshots: name of the origin
	Zero     bool   // thin pools and volumes: new blocks read zeros
	// Thin pools: bytes of metadata, and whether a full pool refuses writes
	// ("error") or lets them wait ("queue").
	MetadataSize int64
	WhenFull     string
	// Used is how much of a thin volume, pool or snapshot holds data; of a
	// pool, MetadataUsed how much of its metadata.
	Used         Percent
	MetadataUsed Percent
}

// Thin reports whether v is a thin volume.
func (v LV) Thin() bool { return slices.Contains(v.Layout, "thin") && !v.ThinPool() }

// ThinPool reports whether v is a thin pool.
func (v LV) ThinPool() bool {
	return slices.Contains(v.Layout, "thin") && slices.Contains(v.Layout, "pool")
}

// HasTags reports whether v carries all of tags.
func (v LV) HasTags(tags ...string) bool { return containsAll(v.Tags, tags) }

// HasTags reports whether v carries all of tags.
func (v VG) HasTags(tags ...string) bool { return containsAll(v.Tags, tags) }

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

// A PV is a physical volume.
type PV struct {
	Name       string // device node, or "[unknown]" when missing
	UUID       string
	VG         string // "" when it belongs to none
	Size       int64  // bytes that the group can use
	Free       int64  // bytes
	DeviceSize int64  // bytes; 0 when missing
	Missing    bool
}

// A Percent is how full something is, in hundredths of a percent as LVM prints
// it, or Unknown.
type Percent int

// Unknown is the Percent of what LVM does not know, as of an inactive volume.
const Unknown Percent = -1

// String is "15.25%" or "unknown".
func (p Percent) String() string {
	if p < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d.%02d%%", p/100, p%100)
}

// VG finds a group by name.
func (r Report) VG(name string) (VG, bool) {
	i := slices.IndexFunc(r.VGs, func(v VG) bool { return v.Name == name })
	if i < 0 {
		return VG{}, false
	}
	return r.VGs[i], true
}

// LV finds a volume by group and name.
func (r Report) LV(vg, name string) (LV, bool) {
	i := slices.IndexFunc(r.LVs, func(v LV) bool { return v.VG == vg && v.Name == name })
	if i < 0 {
		return LV{}, false
	}
	return r.LVs[i], true
}

const (
	vgColumns = "vg_name,vg_uuid,vg_size,vg_free,vg_extent_size,vg_extent_count,vg_free_count," +
		"vg_attr,vg_missing_pv_count,pv_count,lv_count,vg_tags,vg_seqno"
	pvColumns = "pv_name,pv_uuid,vg_name,pv_size,pv_free,dev_size,pv_missing"
	// No column of segments here: it would give one row per segment.
	lvColumns = "lv_name,lv_uuid,vg_name,vg_uuid,lv_size,lv_attr,lv_active,lv_device_open,pool_lv,pool_lv_uuid," +
		"data_percent,metadata_percent,lv_metadata_size,lv_tags,origin,lv_health_status,lv_when_full," +
		"lv_layout,lv_role,lv_path"
)

// Report runs `lvm fullreport --reportformat json --units b --nosuffix` over
// the named groups, or over all groups and unused physical volumes, with a
// --configreport per kind; the reports on segments select nothing. A group that
// does not exist is ErrNotFound. With --config log/report_command_log=0, for
// newer LVM puts what goes wrong into the report and says nothing else.
//
// It takes each group's lock in turn: while a stuck command holds one, name the
// others.
func (t *Tool) Report(ctx context.Context, vgs ...string) (Report, error) {
	argv := []string{
		"lvm", "fullreport", "--config", "log/report_command_log=0",
		"--reportformat", "json", "--units", "b", "--nosuffix",
		"--configreport", "vg", "-o", vgColumns,
		"--configreport", "pv", "-o", pvColumns,
		"--configreport", "lv", "-o", lvColumns,
		"--configreport", "pvseg", "-o", "pv_uuid", "-S", "pvseg_size=0",
		"--configreport", "seg", "-o", "lv_uuid", "-S", "seg_size=0",
	}
	for _, vg := range vgs {
		if err := verify(check{"volume group name", vg, nameRE}); err != nil {
			return Report{}, err
		}
		argv = append(argv, vg)
	}
	out, err := t.run(ctx, argv...)
	if err != nil {
		return Report{}, newError("fullreport", strings.Join(vgs, " "), err)
	}
	r, err := parseReport(out)
	if err != nil {
		return Report{}, garbage("fullreport", strings.Join(vgs, " "), err)
	}
	return r, nil
}
