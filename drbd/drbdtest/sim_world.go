package drbdtest

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"sync"
	"testing"
	"time"

	"rvol/drbd"
)

// Simulated is a World of nodes of one version on a new Fabric. It must be
// used within a synctest bubble, where its patience of ten minutes takes no
// time.
func Simulated(t *testing.T, v drbd.Version) World {
	t.Helper()
	w := &simWorld{fabric: NewFabric()}
	w.fabric.LoseEnds()
	t.Cleanup(w.fabric.Close)
	for i, name := range []string{"n1", "n2", "n3"} {
		m := &simMachine{disks: NewMemory(), files: map[string][]byte{}, address: netip.AddrFrom4([4]byte{10, 77, 0, byte(i + 1)})}
		m.Node = w.fabric.AddNode(NodeConfig{Name: name, Version: v, Disks: m.disks, ReadFile: m.readFile, Helper: m.help})
		w.machines = append(w.machines, m)
	}
	return w
}

type simWorld struct {
	fabric   *Fabric
	machines []Machine
}

func (w *simWorld) Nodes() []Machine { return w.machines }

func (w *simWorld) Cut(_ *testing.T, a, b Machine) { w.fabric.Cut(a.Name(), b.Name()) }

func (w *simWorld) Heal(*testing.T) { w.fabric.Heal() }

func (w *simWorld) Eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for range 6000 {
		if err = try(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s: %v", what, err)
}

// simMachine is a node with files.
type simMachine struct {
	*Node
	disks   *Memory
	mu      sync.Mutex // of files
	files   map[string][]byte
	address netip.Addr
}

func (m *simMachine) readFile(path string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.files[path]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	}
	return text, nil
}

// help runs the suite's helper: a file that says "exit CODE".
func (m *simMachine) help(context.Context, string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	var code int
	if n, err := fmt.Sscanf(string(m.files[fenceFile]), "exit %d", &code); n != 1 || err != nil {
		return 127
	}
	return code
}

func (m *simMachine) Address() netip.Addr { return m.address }

func (m *simMachine) WriteFile(_ *testing.T, path string, text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = text
}

func (m *simMachine) NewDisk(_ *testing.T, name string, size int64) string {
	path := "/dev/vg0/" + name
	m.disks.Create(path, size)
	return path
}

func (m *simMachine) Grow(_ *testing.T, path string, size int64) { m.disks.Disk(path).Resize(size) }

func (m *simMachine) Corrupt(t *testing.T, path string, off int64, data []byte) {
	t.Helper()
	if _, err := m.disks.Disk(path).WriteAt(data, off); err != nil {
		t.Fatal(err)
	}
}

func (m *simMachine) PowerOff(*testing.T) { m.Node.PowerOff() }

func (m *simMachine) PowerOn(*testing.T) { m.Node.PowerOn() }

func (m *simMachine) Hold(t *testing.T, minor drbd.Minor) func() {
	t.Helper()
	release, err := m.Open(minor, "mount")
	if err != nil {
		t.Fatal(err)
	}
	return release
}
