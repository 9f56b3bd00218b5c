package lvmtest

import (
	"fmt"
	"slices"
)

func (m *Machine) lvcreate(a args) (string, *refusal) {
	switch a.value("--type") {
	case "":
		return m.createThick(a)
	case "thin-pool":
		return m.createPool(a)
	case "thin":
		return m.createThin(a)
	}
	return "", badCommand("the simulation cannot create " + a.value("--type"))
}

// room is what all kinds check first: the group, the name, the size.
func (m *Machine) room(a args, size string) (*group, int64, *refusal) {
	bytes, r := a.bytes(size)
	if r != nil {
		return nil, 0, r
	}
	g, r := m.writable(a.names[0])
	if r != nil {
		return nil, 0, r
	}
	if bytes/extentSize >= 1<<32 {
		return nil, 0, failed("Volume too large (" + a.value(size) + ") for extent size 4.00 MiB. Upper limit is less than <16.00 PiB.")
	}
	return g, roundUp(bytes), nil
}

func exists(g *group, name string) *refusal {
	if g.volume(name) == nil {
		return nil
	}
	return failed(fmt.Sprintf("Logical Volume %q already exists in volume group %q", name, g.name))
}

func noSpace(g *group, needed int64) *refusal {
	return failed(fmt.Sprintf("Volume group %q has insufficient free space (%d extents): %d required.", g.name, g.free(), needed))
}

func created(name string) string { return fmt.Sprintf("  Logical volume %q created.\n", name) }

func (m *Machine) createThick(a args) (string, *refusal) {
	if r := a.only("--yes", "--wipesignatures", "--zero", "--addtag", "--size", "--name"); r != nil {
		return "", r
	}
	g, extents, r := m.room(a, "--size")
	if r != nil {
		return "", r
	}
	name := a.value("--name")
	if r := exists(g, name); r != nil {
		return "", r
	}
	segments, ok := g.allocate(extents)
	if !ok {
		return "", noSpace(g, extents)
	}
	v := &volume{
		name: name, uuid: m.uuid(), tags: tagsOf(a), kind: thick, extents: extents, segments: segments, active: true,
	}
	v.wipeStart()
	g.add(v)
	return created(name), nil
}

func (m *Machine) createPool(a args) (string, *refusal) {
	if r := a.only("--yes", "--type", "--zero", "--config", "--addtag", "--size", "--extents", "--name"); r != nil {
		return "", r
	}
	g, r := m.writable(a.names[0])
	if r != nil {
		return "", r
	}
	name := a.value("--name")
	if g.volume(name) != nil {
		return "", failed(fmt.Sprintf("Logical volume %s already exists in Volume group %s.", name, g.name))
	}
	extents, r := poolExtents(g, a)
	if r != nil {
		return "", r
	}
	meta := metadataExtents(extents)
	spare := max(0, meta-count(g.spare))
	if extents+meta+spare > g.free() {
		return "", noSpace(g, extents)
	}
	v := &volume{
		name: name, uuid: m.uuid(), tags: tagsOf(a), kind: thinPool, extents: extents, active: true,
		zero: a.value("--zero") == "y", whenFull: "queue",
	}
	if a.value("--config") == "activation/error_when_full=1" {
		v.whenFull = "error"
	}
	v.segments, _ = g.allocate(extents) // there is room for all three
	v.metadata, _ = g.allocate(meta)
	more, _ := g.allocate(spare)
	g.spare = append(g.spare, more...)
	g.add(v)
	return "  Thin pool volume with chunk size 64.00 KiB can address at most <15.88 TiB of data.\n" + created(name), nil
}

// poolExtents is how large the data of a pool will be.
func poolExtents(g *group, a args) (int64, *refusal) {
	if a.value("--extents") != "100%FREE" {
		bytes, r := a.bytes("--size")
		return roundUp(bytes), r
	}
	n := g.free()
	for n > 0 && n+metadataExtents(n)+max(0, metadataExtents(n)-count(g.spare)) > g.free() {
		n--
	}
	if n == 0 {
		return 0, failed("Calculated size of logical volume is 0 extents. Needs to be larger.")
	}
	return n, nil
}

// metadataExtents is what LVM sets aside for a pool of so many extents: 64
// bytes for each chunk.
func metadataExtents(data int64) int64 {
	return max(1, roundUp(data*extentSize/chunkSize*64))
}

func count(segments []segment) int64 {
	var n int64
	for _, s := range segments {
		n += s.count
	}
	return n
}

func (m *Machine) createThin(a args) (string, *refusal) {
	if r := a.only("--yes", "--type", "--addtag", "--virtualsize", "--thinpool", "--name"); r != nil {
		return "", r
	}
	g, extents, r := m.room(a, "--virtualsize")
	if r != nil {
		return "", r
	}
	name, pool := a.value("--name"), g.volume(a.value("--thinpool"))
	switch {
	case pool == nil:
		return "", failed(fmt.Sprintf("Pool %s not found in Volume group %s.", a.value("--thinpool"), g.name))
	case pool.kind != thinPool:
		return "", failed(fmt.Sprintf("Logical volume %s is not a thin pool.", pool))
	}
	if r := exists(g, name); r != nil {
		return "", r
	}
	if pool.full() {
		return "", failed(fmt.Sprintf("Cannot create new thin volume, free space in thin pool %s reached threshold.", pool))
	}
	pool.active = true
	g.add(&volume{
		name: name, uuid: m.uuid(), tags: tagsOf(a), kind: thin, extents: extents, pool: pool, chunks: chunks{}, active: true,
	})
	return created(name), nil
}

func (v *volume) full() bool { return v.usedChunks() >= v.size()/chunkSize }

// tagsOf are the tags of a new object, in LVM's order.
func tagsOf(a args) []string { return slices.Sorted(slices.Values(a.options["--addtag"])) }
