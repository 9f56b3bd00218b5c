package lvmtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A row is the columns of one object.
type row map[string]string

// fullreport prints what `lvm fullreport --reportformat json` prints.
func (m *Machine) fullreport(a args) (string, *refusal) {
	if r := a.only("--config", "--reportformat", "--units", "--nosuffix", "--configreport", "-o", "-S"); r != nil {
		return "", r
	}
	columns := map[string]string{}
	kind := ""
	for i := 0; i < len(a.order); i += 2 {
		switch a.order[i] {
		case "--configreport":
			kind = a.order[i+1]
		case "-o":
			columns[kind] = a.order[i+1]
		}
	}
	groups, refused := m.reported(a.names)
	var elements []string
	for _, g := range groups {
		e, r := m.element(g, columns)
		if r != nil {
			return "", r
		}
		elements = append(elements, e)
	}
	const open, end = "  {\n      \"report\": [\n", "      ]\n  }\n"
	return open + strings.Join(elements, "          ,\n") + end, refused
}

// reported finds the named groups, or all of them.
func (m *Machine) reported(names []string) ([]*group, *refusal) {
	var groups []*group
	var missing []string
	for _, g := range m.groups {
		if len(names) == 0 && g.missing() < len(g.disks) {
			groups = append(groups, g)
		}
	}
	for _, name := range names {
		if g := m.group(name); g != nil {
			groups = append(groups, g)
			continue
		}
		missing = append(missing, fmt.Sprintf("Volume group %q not found", name), "Cannot process volume group "+name)
	}
	if missing != nil {
		return groups, failed(missing...)
	}
	return groups, nil
}

func (m *Machine) element(g *group, columns map[string]string) (string, *refusal) {
	rows := map[string][]row{"vg": {g.row()}}
	for _, d := range g.disks {
		rows["pv"] = append(rows["pv"], d.row())
	}
	for _, v := range g.lvs {
		rows["lv"] = append(rows["lv"], v.row())
	}
	var sections []string
	for _, kind := range []string{"vg", "pv", "lv", "pvseg", "seg"} {
		var lines []string
		for _, r := range rows[kind] {
			line, refused := r.line(columns[kind])
			if refused != nil {
				return "", refused
			}
			lines = append(lines, line)
		}
		body := strings.Join(lines, ",\n")
		if body != "" {
			body += "\n"
		}
		sections = append(sections, fmt.Sprintf("              %q: [\n%s              ]\n", kind, body))
	}
	return "          {\n" + strings.Join(sections, "              ,\n") + "          }\n", nil
}

func (r row) line(columns string) (string, *refusal) {
	if columns == "" { // all of them, as the tool does
		columns = strings.Join(slices.Sorted(maps.Keys(r)), ",")
	}
	var cells []string
	for column := range strings.SplitSeq(columns, ",") {
		value, ok := r[column]
		if !ok {
			return "", badCommand("Unrecognised field: " + column)
		}
		cells = append(cells, fmt.Sprintf("%q:%q", column, value))
	}
	return "                  {" + strings.Join(cells, ", ") + "}", nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (g *group) row() row {
	var total int64
	for _, d := range g.disks {
		total += d.extents()
	}
	attr := "wz--n-"
	if g.missing() > 0 {
		attr = "wz-pn-"
	}
	return row{
		"vg_name": g.name, "vg_uuid": g.uuid, "vg_attr": attr,
		"vg_size": number(total * extentSize), "vg_free": number(g.free() * extentSize),
		"vg_extent_size": number(extentSize), "vg_extent_count": number(total), "vg_free_count": number(g.free()),
		"vg_missing_pv_count": number(int64(g.missing())), "pv_count": number(int64(len(g.disks))),
		"lv_count": number(int64(len(g.lvs))), "vg_tags": strings.Join(g.tags, ","), "vg_seqno": number(int64(g.seqno)),
	}
}

func (d *disk) row() row {
	r := row{
		"pv_name": d.path, "pv_uuid": d.uuid, "vg_name": d.group.name, "pv_missing": "",
		"pv_size": number(d.extents() * extentSize), "pv_free": number(d.free() * extentSize), "dev_size": number(d.size),
	}
	if !d.present {
		r["pv_name"], r["pv_missing"], r["dev_size"] = "[unknown]", "missing", "0"
	}
	return r
}

func (v *volume) row() row {
	r := row{
		"lv_name": v.name, "lv_uuid": v.uuid, "vg_name": v.vg.name, "vg_uuid": v.vg.uuid, "lv_size": number(v.size()),
		"lv_attr": v.attr(), "lv_active": "", "lv_device_open": "unknown", "pool_lv": "", "pool_lv_uuid": "",
		"data_percent": "", "metadata_percent": "", "lv_metadata_size": "", "lv_tags": strings.Join(v.tags, ","),
		"origin": "", "lv_health_status": v.health(), "lv_when_full": "",
		"lv_layout": "linear", "lv_role": "public", "lv_path": "/dev/" + v.String(),
	}
	if v.active {
		r["lv_active"], r["lv_device_open"] = "active", ""
		if v.isOpen() {
			r["lv_device_open"] = "open"
		}
	}
	switch v.kind {
	case thick:
	case thin:
		r["pool_lv"], r["pool_lv_uuid"], r["lv_layout"] = v.pool.name, v.pool.uuid, "thin,sparse"
		if v.active {
			r["data_percent"] = percent(int64(len(v.chunks)), v.size()/chunkSize)
		}
	case thinPool:
		r["lv_layout"], r["lv_role"], r["lv_path"], r["lv_when_full"] = "thin,pool", "private", "", v.whenFull
		r["lv_metadata_size"] = number(count(v.metadata) * extentSize)
		if v.active {
			r["data_percent"] = percent(v.usedChunks(), v.size()/chunkSize)
			r["metadata_percent"] = percent(v.metadataBlocks(), count(v.metadata)*extentSize/4096)
		}
	}
	return r
}

// isOpen reports whether somebody holds v; its active volumes hold a pool.
func (v *volume) isOpen() bool {
	for _, lv := range v.vg.lvs {
		if lv.pool == v && lv.active {
			return true
		}
	}
	return v.opens > 0
}

func (v *volume) health() string {
	switch {
	case v.partial():
		return "partial"
	case v.kind == thinPool && v.active && v.full():
		return "out_of_data"
	}
	return ""
}

// attr is the lv_attr of man lvs: kind, permissions, allocation, fixed minor,
// state, open, target, zeroing, health, skipped activation.
func (v *volume) attr() string {
	attr := []byte("-wi-------")
	switch v.kind {
	case thick:
	case thinPool:
		attr[0], attr[6] = 't', 't'
	case thin:
		attr[0], attr[6] = 'V', 't'
	}
	if v.active {
		attr[4] = 'a'
		if v.isOpen() {
			attr[5] = 'o'
		}
	}
	if v.kind == thinPool && v.zero || v.kind == thin && v.pool.zero {
		attr[7] = 'z'
	}
	switch v.health() {
	case "partial":
		attr[8] = 'p'
	case "out_of_data":
		attr[8] = 'D'
	}
	return string(attr)
}

// metadataBlocks is what the mappings of a pool take, by what was seen of real
// ones: 111 blocks when empty, and one for each volume and 252 chunks.
func (v *volume) metadataBlocks() int64 {
	blocks := int64(111)
	for _, lv := range v.vg.lvs {
		if lv.pool == v {
			blocks += max(1, (int64(len(lv.chunks))+251)/252)
		}
	}
	return blocks
}

func percent(part, whole int64) string {
	hundredths := part * 10000 / whole
	return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
}
