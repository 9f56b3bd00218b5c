package lvmtest

import (
	"fmt"
	"slices"
	"strings"
)

// lv finds the volume that a command names as VG/LV.
func (m *Machine) lv(a args) (*volume, *refusal) {
	vg, lv, _ := strings.Cut(a.names[0], "/")
	g := m.group(vg)
	if g == nil {
		return nil, groupNotFound(vg)
	}
	if v := g.volume(lv); v != nil {
		return v, nil
	}
	return nil, lvNotFound(vg, lv)
}

func (m *Machine) lvextend(a args) (string, *refusal) {
	if r := a.only("--size"); r != nil {
		return "", r
	}
	bytes, r := a.bytes("--size")
	if r != nil {
		return "", r
	}
	vg, lv, _ := strings.Cut(a.names[0], "/")
	g, r := m.writable(vg)
	if r != nil {
		return "", r
	}
	v := g.volume(lv)
	if v == nil {
		return "", failed(fmt.Sprintf("Logical volume %s not found in volume group %s.", lv, vg))
	}
	extents := roundUp(bytes)
	switch {
	case extents == v.extents:
		return "", failed(fmt.Sprintf("New size (%d extents) matches existing size (%d extents).", extents, v.extents))
	case extents < v.extents:
		return "", failed(fmt.Sprintf("New size given (%d extents) not larger than existing size (%d extents)", extents, v.extents))
	}
	if v.kind != thin {
		more, ok := g.allocate(extents - v.extents)
		if !ok {
			return "", failed(fmt.Sprintf("Insufficient free space: %d extents needed, but only %d available", extents-v.extents, g.free()))
		}
		v.segments = append(v.segments, more...)
	}
	v.extents = extents
	g.seqno++
	return fmt.Sprintf("  Logical volume %s successfully resized.\n", v), nil
}

func (m *Machine) lvremove(a args) (string, *refusal) {
	if r := a.only("--yes", "--select"); r != nil {
		return "", r
	}
	v, r := m.lv(a)
	if r != nil {
		return "", r
	}
	selected, err := v.matches(a.value("--select"))
	switch {
	case err != nil:
		return "", badCommand(err.Error())
	case !selected:
		return "", nil
	case v.inUse() != nil:
		return "", v.inUse()
	}
	for _, s := range slices.Concat(v.segments, v.metadata) {
		s.release()
	}
	g := v.vg
	g.lvs = slices.DeleteFunc(g.lvs, func(x *volume) bool { return x == v || x.pool == v })
	g.seqno++
	return fmt.Sprintf("  Logical volume %q successfully removed.\n", v.name), nil
}

func (v *volume) inUse() *refusal {
	if v.opens > 0 {
		return failed(fmt.Sprintf("Logical volume %s in use.", v))
	}
	return nil
}

func (m *Machine) lvchange(a args) (string, *refusal) {
	if r := a.only("--activate", "--deltag"); r != nil {
		return "", r
	}
	v, r := m.lv(a)
	if r != nil {
		return "", r
	}
	if a.has("--deltag") {
		v.tags = slices.DeleteFunc(slices.Clone(v.tags), func(tag string) bool { return tag == a.value("--deltag") })
		v.vg.seqno++
		return fmt.Sprintf("  Logical volume %s changed.\n", v), nil
	}
	if a.value("--activate") == "n" {
		if r := v.inUse(); r != nil {
			return "", r
		}
		v.active = false
		return "", nil
	}
	if v.partial() {
		return "", refusedPartial(v.String())
	}
	v.active = true
	if v.pool != nil {
		v.pool.active = true
	}
	return "", nil
}

// matches tells whether a selection of terms such as lv_uuid="x" joined by &&
// holds for v.
func (v *volume) matches(selection string) (bool, error) {
	if selection == "" {
		return true, nil
	}
	for term := range strings.SplitSeq(selection, " && ") {
		field, quoted, _ := strings.Cut(term, "=")
		value := strings.Trim(quoted, `"`)
		switch field {
		case "lv_uuid":
			if v.uuid != value {
				return false, nil
			}
		case "lv_tags":
			if !slices.Contains(v.tags, value) {
				return false, nil
			}
		default:
			return false, fmt.Errorf("the simulation cannot select by %q", field)
		}
	}
	return true, nil
}
