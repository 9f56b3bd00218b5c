package lvm

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// An LVSpec is a logical volume to be made.
type LVSpec struct {
	VG   string
	Name string
	Size int64    // bytes, a multiple of SectorSize; LVM rounds up to whole extents
	Tags []string // set in the same command, so that no untagged moment exists
}

// LVCreate runs `lvcreate --yes --wipesignatures y --zero y [--addtag TAG]...
// --size SIZEb --name LV VG`: a thick volume, active, without what blkid could
// mistake for a file system or DRBD metadata. Its other blocks show what was
// there before.
func (t *Tool) LVCreate(ctx context.Context, s LVSpec) error {
	argv, err := s.argv("--wipesignatures", "y", "--zero", "y")
	if err != nil {
		return err
	}
	size, err := bytes(s.Size)
	if err != nil {
		return err
	}
	argv = append(argv, "--size", size, "--name", s.Name, s.VG)
	return t.exec(ctx, s.VG+"/"+s.Name, argv...)
}

// argv is the part of lvcreate's command line that all kinds share.
func (s LVSpec) argv(flags ...string) ([]string, error) {
	if err := verifyLV(s.VG, s.Name); err != nil {
		return nil, err
	}
	if err := verifyTags(s.Tags); err != nil {
		return nil, err
	}
	argv := append([]string{"lvcreate", "--yes"}, flags...)
	return addTags(argv, s.Tags), nil
}

// LVExtend runs `lvextend --size SIZEb VG/LV`. Having that size already is no
// error; being larger is ErrNotLarger.
func (t *Tool) LVExtend(ctx context.Context, vg, lv string, size int64) error {
	if err := verifyLV(vg, lv); err != nil {
		return err
	}
	arg, err := bytes(size)
	if err != nil {
		return err
	}
	err = t.exec(ctx, vg+"/"+lv, "lvextend", "--size", arg, vg+"/"+lv)
	if errors.Is(err, ErrSameSize) {
		return nil
	}
	return err
}

// LVRemove runs `lvremove --yes --select 'lv_uuid="UUID" && lv_tags="TAG" ...'
// VG/LV`. A volume of that name with another UUID or without one of the tags
// is left alone, and LVM calls that success: only a Report afterwards tells
// whether the volume is gone. An open volume is ErrInUse.
func (t *Tool) LVRemove(ctx context.Context, vg, lv, uuid string, tags ...string) error {
	if err := verifyLV(vg, lv); err != nil {
		return err
	}
	if err := verify(check{"logical volume UUID", uuid, uuidRE}); err != nil {
		return err
	}
	if err := verifyTags(tags); err != nil {
		return err
	}
	terms := []string{fmt.Sprintf("lv_uuid=%q", uuid)}
	for _, tag := range tags {
		terms = append(terms, fmt.Sprintf("lv_tags=%q", tag))
	}
	selection := strings.Join(terms, " && ")
	return t.exec(ctx, vg+"/"+lv, "lvremove", "--yes", "--select", selection, vg+"/"+lv)
}

// LVActivate runs `lvchange --activate y VG/LV`. Doing so twice is no error.
func (t *Tool) LVActivate(ctx context.Context, vg, lv string) error {
	if err := verifyLV(vg, lv); err != nil {
		return err
	}
	return t.exec(ctx, vg+"/"+lv, "lvchange", "--activate", "y", vg+"/"+lv)
}

// LVDeactivate runs `lvchange --activate n VG/LV`. An open volume is ErrInUse.
func (t *Tool) LVDeactivate(ctx context.Context, vg, lv string) error {
	if err := verifyLV(vg, lv); err != nil {
		return err
	}
	return t.exec(ctx, vg+"/"+lv, "lvchange", "--activate", "n", vg+"/"+lv)
}

// LVUntag runs `lvchange --deltag TAG VG/LV`.
func (t *Tool) LVUntag(ctx context.Context, vg, lv, tag string) error {
	if err := verifyLV(vg, lv); err != nil {
		return err
	}
	if err := verifyTags([]string{tag}); err != nil {
		return err
	}
	return t.exec(ctx, vg+"/"+lv, "lvchange", "--deltag", tag, vg+"/"+lv)
}
