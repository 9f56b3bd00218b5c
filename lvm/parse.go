package lvm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseReport reads the output of fullreport: one element per group, and one
// for physical volumes that belong to none.
func parseReport(out []byte) (Report, error) {
	var doc struct {
		Report *[]struct{ VG, LV, PV []row }
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return Report{}, err
	}
	if doc.Report == nil {
		return Report{}, errors.New("no report in it")
	}
	var r Report
	for _, group := range *doc.Report {
		vgs, err1 := rows(group.VG, parseVG)
		lvs, err2 := rows(group.LV, parseLV)
		pvs, err3 := rows(group.PV, parsePV)
		if err := errors.Join(err1, err2, err3); err != nil {
			return Report{}, err
		}
		if err := complete(vgs, lvs, pvs); err != nil {
			return Report{}, err
		}
		r.VGs = append(r.VGs, vgs...)
		r.LVs = append(r.LVs, lvs...)
		r.PVs = append(r.PVs, pvs...)
	}
	slices.SortFunc(r.VGs, func(a, b VG) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID)) })
	slices.SortFunc(r.LVs, func(a, b LV) int {
		return cmp.Or(cmp.Compare(a.VG, b.VG), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	slices.SortFunc(r.PVs, func(a, b PV) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID)) })
	return r, nil
}

// complete refuses a group of which rows are missing: what is not listed would
// look as if it were gone.
func complete(vgs []VG, lvs []LV, pvs []PV) error {
	if len(vgs) > 1 {
		return fmt.Errorf("%d volume groups in one element", len(vgs))
	}
	var vg VG
	if len(vgs) == 1 {
		vg = vgs[0]
		if len(lvs) != vg.LVCount || len(pvs) != vg.PVCount {
			return fmt.Errorf("volume group %s counts %d logical and %d physical volumes, %d and %d are listed",
				vg.Name, vg.LVCount, vg.PVCount, len(lvs), len(pvs))
		}
	}
	for _, lv := range lvs {
		if lv.VGUUID != vg.UUID || lv.VG != vg.Name {
			return fmt.Errorf("logical volume %s is listed with volume group %q", lv.Name, vg.Name)
		}
	}
	for _, pv := range pvs {
		if pv.VG != vg.Name {
			return fmt.Errorf("physical volume %s is listed with volume group %q", pv.Name, vg.Name)
		}
	}
	return nil
}

// A row is one object: LVM prints every column as text.
type row map[string]string

func rows[T any](in []row, parse func(*fields) T) ([]T, error) {
	var out []T
	for _, r := range in {
		f := &fields{row: r}
		v := parse(f)
		if f.err != nil {
			return nil, f.err
		}
		out = append(out, v)
	}
	return out, nil
}

// fields reads a row and remembers the first thing that was wrong with it.
type fields struct {
	row row
	err error
}

func (f *fields) fail(column, why string) {
	if f.err == nil {
		f.err = fmt.Errorf("column %s %s", column, why)
	}
}

func (f *fields) text(column string) string {
	s, ok := f.row[column]
	if !ok {
		f.fail(column, "is missing")
	}
	return s
}

func (f *fields) name(column string) string {
	s := f.text(column)
	if s == "" {
		f.fail(column, "is empty")
	}
	return s
}

func (f *fields) uuid(column string) string {
	s := f.text(column)
	if !uuidRE.MatchString(s) {
		f.fail(column, fmt.Sprintf("is %q, which is no UUID", s))
	}
	return s
}

func (f *fields) number(column string) int64 {
	s := f.text(column)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		f.fail(column, fmt.Sprintf("is %q, which is no number", s))
		return 0
	}
	return n
}

func (f *fields) list(column string) []string {
	s := f.text(column)
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// flag is true when the column holds its one word, and false when it is empty.
func (f *fields) flag(column, word string) bool {
	s := f.text(column)
	if s != "" && s != word {
		f.fail(column, fmt.Sprintf("is %q, neither %q nor empty", s, word))
	}
	return s == word
}

func (f *fields) percent(column string) Percent {
	s := f.text(column)
	if s == "" {
		return Unknown
	}
	whole, hundredths, _ := strings.Cut(s, ".")
	w, err1 := strconv.ParseUint(whole, 10, 16)
	h, err2 := strconv.ParseUint(hundredths, 10, 16)
	if err1 != nil || err2 != nil || len(hundredths) != 2 || w > 100 {
		f.fail(column, fmt.Sprintf("is %q, which is no percentage", s))
		return Unknown
	}
	return Percent(w*100 + h)
}

// attr is one character of an attribute string (man lvs, man vgs).
func (f *fields) attr(column string, i int) byte {
	s := f.text(column)
	if i >= len(s) {
		f.fail(column, fmt.Sprintf("is %q, which is too short", s))
		return '-'
	}
	return s[i]
}

func parseVG(f *fields) VG {
	v := VG{
		Name:        f.name("vg_name"),
		UUID:        f.uuid("vg_uuid"),
		Size:        f.number("vg_size"),
		Free:        f.number("vg_free"),
		ExtentSize:  f.number("vg_extent_size"),
		Extents:     f.number("vg_extent_count"),
		FreeExtents: f.number("vg_free_count"),
		MissingPVs:  int(f.number("vg_missing_pv_count")),
		Partial:     f.attr("vg_attr", 3) == 'p',
		Writable:    f.attr("vg_attr", 0) == 'w',
		Exported:    f.attr("vg_attr", 2) == 'x',
		PVCount:     int(f.number("pv_count")),
		LVCount:     int(f.number("lv_count")),
		Tags:        f.list("vg_tags"),
		SeqNo:       f.number("vg_seqno"),
	}
	if v.ExtentSize == 0 {
		f.fail("vg_extent_size", "is 0")
	}
	return v
}

func parseLV(f *fields) LV {
	active := f.text("lv_active")
	open := f.text("lv_device_open")
	v := LV{
		Name:         f.name("lv_name"),
		UUID:         f.uuid("lv_uuid"),
		VG:           f.name("vg_name"),
		VGUUID:       f.uuid("vg_uuid"),
		Size:         f.number("lv_size"),
		Tags:         f.list("lv_tags"),
		Layout:       f.list("lv_layout"),
		Roles:        f.list("lv_role"),
		Path:         f.text("lv_path"),
		Active:       active != "" && active != "unknown",
		Open:         open == "open" || active != "" && open != "",
		Partial:      f.attr("lv_attr", 8) == 'p',
		Health:       f.text("lv_health_status"),
		Pool:         f.text("pool_lv"),
		PoolUUID:     f.text("pool_lv_uuid"),
		Origin:       f.text("origin"),
		Zero:         f.attr("lv_attr", 7) == 'z',
		WhenFull:     f.text("lv_when_full"),
		Used:         f.percent("data_percent"),
		MetadataUsed: f.percent("metadata_percent"),
	}
	if f.text("lv_metadata_size") != "" {
		v.MetadataSize = f.number("lv_metadata_size")
	}
	return v
}

func parsePV(f *fields) PV {
	return PV{
		Name:       f.name("pv_name"),
		UUID:       f.uuid("pv_uuid"),
		VG:         f.text("vg_name"),
		Size:       f.number("pv_size"),
		Free:       f.number("pv_free"),
		DeviceSize: f.number("dev_size"),
		Missing:    f.flag("pv_missing", "missing"),
	}
}
