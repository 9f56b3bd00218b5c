package agenttest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
	"rvol/lvm/lvmtest"
)

// Config describes a machine.
type Config struct {
	Name    string
	Version drbd.Version
	Root    string          // a folder of its own; what /etc, /dev, /proc and /var are in
	Seed    uint64          // of LVM's UUIDs
	Helper  drbdtest.Helper // what DRBD's fencing runs; nil: nothing
	// Groups are volume groups to begin with: name and size in bytes.
	Groups map[string]int64
	// ThinPools makes a thin pool in groups: pool by group.
	ThinPools map[string]string
}

// A Machine is a simulated machine.
type Machine struct {
	Name string
	Root string
	LVM  *lvmtest.Machine
	DRBD *drbdtest.Node
}

// New makes a machine with power on.
func New(f *drbdtest.Fabric, c Config) (*Machine, error) {
	m := &Machine{Name: c.Name, Root: c.Root, LVM: lvmtest.New(c.Seed)}
	m.DRBD = f.AddNode(drbdtest.NodeConfig{
		Name: c.Name, Version: c.Version, ReadFile: os.ReadFile, Disks: disks{m.LVM}, Helper: c.Helper,
	})
	for name, size := range c.Groups {
		if err := m.addGroup(name, size, c.ThinPools[name]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// DiskOf is the one disk of a volume group that a machine began with.
func DiskOf(vg string) string { return "/dev/sd-" + vg }

func (m *Machine) addGroup(name string, size int64, pool string) error {
	disk := DiskOf(name)
	m.LVM.AddDisk(disk, size)
	ctx := context.Background()
	if _, err := m.LVM.Run(ctx, "vgcreate", name, disk); err != nil {
		return fmt.Errorf("make group %s: %w", name, err)
	}
	if pool == "" {
		return nil
	}
	_, err := m.LVM.Run(ctx, "lvcreate", "--yes", "--type", "thin-pool", "--zero", "y",
		"--config", "activation/error_when_full=1", "--extents", "100%FREE", "--name", pool, name)
	if err != nil {
		return fmt.Errorf("make pool %s/%s: %w", name, pool, err)
	}
	return nil
}

// Run runs one tool.
func (m *Machine) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) > 0 && strings.HasPrefix(argv[0], "drbd") {
		return m.DRBD.Run(ctx, argv...)
	}
	switch argv[0] {
	case "journalctl":
		return m.journal()
	case "dmsetup":
		return []byte("No devices found\n"), nil
	}
	return m.LVM.Run(ctx, argv...)
}

// journal is what a test wrote into the machine's log.
func (m *Machine) journal() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(m.Root, "var/log/journal.txt"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return text, err
}

// PowerOff takes the power away: what was active, up or mounted on memory is
// gone, files stay.
func (m *Machine) PowerOff() error {
	m.DRBD.PowerOff()
	m.LVM.PowerOff()
	for _, dir := range []string{"dev", "proc", "run"} {
		if err := os.RemoveAll(filepath.Join(m.Root, dir)); err != nil {
			return err
		}
	}
	return nil
}

// PowerOn boots the machine.
func (m *Machine) PowerOn() { m.DRBD.PowerOn() }

// disks lets DRBD open logical volumes.
type disks struct{ lvm *lvmtest.Machine }

// Open opens a volume as DRBD does: nobody else may have it so.
func (d disks) Open(path string) (drbdtest.Disk, error) {
	dev, err := d.lvm.OpenExclusive(path)
	if err != nil {
		return nil, err
	}
	return disk{dev}, nil
}

type disk struct{ *lvmtest.Device }

// Data finds the parts that hold other than zeros.
func (d disk) Data(off, n int64) []drbdtest.Extent {
	var found []drbdtest.Extent
	for _, r := range d.Written(off, n) {
		part := make([]byte, r.Len)
		if _, err := d.ReadAt(part, r.Off); err != nil {
			return append(found, drbdtest.Extent{Off: r.Off, Len: off + n - r.Off}) // who knows
		}
		if !zero(part) {
			found = append(found, drbdtest.Extent{Off: r.Off, Len: r.Len})
		}
	}
	return found
}

// Discard makes a range read as zeros.
func (d disk) Discard(off, n int64) error {
	for _, e := range d.Data(off, n) {
		if _, err := d.WriteAt(make([]byte, e.Len), e.Off); err != nil {
			return err
		}
	}
	return nil
}

func zero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

// Files lists the files below a folder of the machine, for tests.
func (m *Machine) Files(dir string) ([]string, error) {
	var names []string
	root := filepath.Join(m.Root, dir)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		names = append(names, name)
		return err
	})
	if os.IsNotExist(err) {
		return nil, nil
	}
	return names, err
}
