package lvmtest

import "fmt"

func (m *Machine) vgcreate(a args) (string, *refusal) {
	if r := a.only("--addtag"); r != nil {
		return "", r
	}
	name, path := a.names[0], a.names[1]
	if m.group(name) != nil {
		return "", failed(fmt.Sprintf("A volume group called %s already exists.", name))
	}
	d := m.disk(path)
	switch {
	case d == nil:
		return "", failed(fmt.Sprintf("No device found for %s.", path))
	case d.group != nil:
		return "", failed(
			fmt.Sprintf("Physical volume '%s' is already in volume group '%s'", path, d.group.name),
			fmt.Sprintf("Unable to add physical volume '%s' to volume group '%s'", path, d.group.name),
			path+": physical volume not initialized.")
	case d.opens > 0:
		return "", failed(
			fmt.Sprintf("Can't open %s exclusively.  Mounted filesystem?", path),
			fmt.Sprintf("Cannot use %s: device has a signature", path))
	case len(d.signatures()) > 0:
		s := d.signatures()[0]
		// The question gets no answer from an empty standard input.
		return "", &refusal{exitFailed, fmt.Sprintf("WARNING: %s signature detected on %s at offset %d. Wipe it? [y/n]: [n]\n",
			s.kind, path, s.offset) + joined([]string{"Aborted wiping of " + s.kind + ".", "1 existing signature left on the device."})}
	}
	g := &group{name: name, uuid: m.uuid(), tags: a.options["--addtag"], seqno: 1, disks: []*disk{d}}
	d.group, d.uuid, d.used = g, m.uuid(), make([]bool, d.extents())
	m.groups = append(m.groups, g)
	return fmt.Sprintf("  Physical volume %q successfully created.\n  Volume group %q successfully created\n", path, name), nil
}

func (m *Machine) vgchange(a args) (string, *refusal) {
	if r := a.only("--activate"); r != nil {
		return "", r
	}
	g := m.group(a.names[0])
	if g == nil {
		return "", groupNotFound(a.names[0])
	}
	active, partial := 0, ""
	for _, v := range g.lvs {
		if v.partial() {
			partial = v.String()
			continue
		}
		v.active = true
		active++
	}
	out := fmt.Sprintf("  %d logical volume(s) in volume group %q now active\n", active, g.name)
	if partial != "" {
		return out, refusedPartial(partial)
	}
	return out, nil
}

func refusedPartial(lv string) *refusal {
	return failed(fmt.Sprintf("Refusing activation of partial LV %s.  Use '--activationmode partial' to override.", lv))
}

// writable finds a group whose metadata can be changed.
func (m *Machine) writable(name string) (*group, *refusal) {
	g := m.group(name)
	switch {
	case g == nil:
		return nil, groupNotFound(name)
	case g.missing() > 0:
		return nil, failed(
			fmt.Sprintf("Cannot change VG %s while PVs are missing.", name),
			"See vgreduce --removemissing and vgextend --restoremissing.",
			"Cannot process volume group "+name)
	}
	return g, nil
}
