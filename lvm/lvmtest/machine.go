package lvmtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// A Machine is a simulated machine with disks, volume groups and volumes. Its
// methods may be called from several goroutines.
type Machine struct {
	mu       sync.Mutex
	random   *rand.Rand
	disks    []*disk // in the order they were added
	groups   []*group
	commands [][]string
	faults   faults
}

// A group is a volume group.
type group struct {
	name  string
	uuid  string
	tags  []string
	seqno int
	disks []*disk
	lvs   []*volume
	spare []segment // of the metadata of thin pools
}

// A volume is a logical volume.
type volume struct {
	vg      *group
	name    string
	uuid    string
	tags    []string
	kind    kind
	extents int64
	active  bool
	opens   int
	// exclusive counts those among opens who want nobody beside them.
	exclusive  int
	generation int // raised by a power loss: older handles are dead

	segments []segment // thick volumes and pools

	pool   *volume // thin volumes
	chunks chunks

	metadata []segment // pools
	zero     bool
	whenFull string
}

type kind int

const (
	thick kind = iota
	thinPool
	thin
)

// extentSize is LVM's default, in bytes.
const extentSize = 4 << 20

// New returns a machine without disks. The same seed gives the same UUIDs.
func New(seed uint64) *Machine {
	return &Machine{random: rand.New(rand.NewPCG(seed, 0))}
}

// AddDisk adds an empty disk of size bytes.
func (m *Machine) AddDisk(path string, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.disks = append(m.disks, &disk{path: path, size: size, present: true, data: sparse{}})
}

// AddForeign makes a thick volume that is not ours, as an administrator would.
func (m *Machine) AddForeign(vg, name string, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.group(vg)
	if g == nil {
		return fmt.Errorf("no volume group %s", vg)
	}
	segments, ok := g.allocate(roundUp(size))
	if !ok {
		return fmt.Errorf("no room for %s in %s", name, vg)
	}
	g.add(&volume{name: name, uuid: m.uuid(), kind: thick, extents: roundUp(size), segments: segments, active: true})
	return nil
}

// Filler is the volume with which FillPools fills a thin pool.
const Filler = "filler"

// FillPools lets a thin volume of somebody else take all that is left of the thin pools of a
// group; who removes it makes room again.
func (m *Machine) FillPools(vg string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.group(vg)
	for _, pool := range slices.Clone(g.lvs) {
		if pool.kind != thinPool {
			continue
		}
		v := &volume{name: Filler, uuid: m.uuid(), kind: thin, pool: pool, extents: pool.extents, chunks: chunks{}, active: true}
		g.add(v)
		for chunk := int64(0); ; chunk++ {
			if _, err := v.provision(chunk); err != nil {
				break
			}
		}
	}
}

// PowerOff is a loss of power: nothing is active and nothing open afterwards;
// what was written is there.
func (m *Machine) PowerOff() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.groups {
		for _, v := range g.lvs {
			v.active, v.opens, v.exclusive = false, 0, 0
			v.generation++
		}
	}
	for _, d := range m.disks {
		d.opens, d.generation = 0, d.generation+1
	}
}

// Commands lists what was run, oldest first.
func (m *Machine) Commands() [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([][]string(nil), m.commands...)
}

const uuidLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func (m *Machine) uuid() string {
	parts := make([]string, 0, 7)
	for _, n := range []int{6, 4, 4, 4, 4, 4, 6} {
		b := make([]byte, n)
		for i := range b {
			b[i] = uuidLetters[m.random.IntN(len(uuidLetters))]
		}
		parts = append(parts, string(b))
	}
	return strings.Join(parts, "-")
}

// group finds a volume group of which at least one disk is there.
func (m *Machine) group(name string) *group {
	for _, g := range m.groups {
		if g.name == name && g.missing() < len(g.disks) {
			return g
		}
	}
	return nil
}

func (m *Machine) disk(path string) *disk {
	for _, d := range m.disks {
		if d.path == path && d.present {
			return d
		}
	}
	return nil
}

func (g *group) volume(name string) *volume {
	for _, v := range g.lvs {
		if v.name == name {
			return v
		}
	}
	return nil
}

// add keeps the volumes in the order of their names, as LVM lists them.
func (g *group) add(v *volume) {
	v.vg = g
	i := 0
	for i < len(g.lvs) && g.lvs[i].name < v.name {
		i++
	}
	g.lvs = append(g.lvs[:i], append([]*volume{v}, g.lvs[i:]...)...)
	g.seqno++
}

func (g *group) missing() int {
	n := 0
	for _, d := range g.disks {
		if !d.present {
			n++
		}
	}
	return n
}

// partial reports whether some of v is on a missing disk.
func (v *volume) partial() bool {
	if v.kind == thin {
		return v.pool.partial()
	}
	lost := func(s segment) bool { return !s.disk.present }
	return slices.ContainsFunc(v.metadata, lost) || slices.ContainsFunc(v.segments, lost)
}

func (v *volume) size() int64 { return v.extents * extentSize }

func (v *volume) String() string { return v.vg.name + "/" + v.name }

func roundUp(size int64) int64 { return (size + extentSize - 1) / extentSize }

// ExtendGroup adds a disk to a volume group, as vgextend does.
func (m *Machine) ExtendGroup(vg, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, d := m.group(vg), m.disk(path)
	if g == nil || d == nil || d.group != nil {
		return fmt.Errorf("cannot add %s to %s", path, vg)
	}
	d.group, d.uuid, d.used = g, m.uuid(), make([]bool, d.extents())
	g.disks = append(g.disks, d)
	g.seqno++
	return nil
}
