package drbdtest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"rvol/drbd"
)

// A NodeConfig describes a node.
type NodeConfig struct {
	Name     string // as uname -n and the .res files have it
	Version  drbd.Version
	Disks    Disks                             // nil: an empty Memory
	ReadFile func(path string) ([]byte, error) // the node's files, for drbdadm -c; nil: none
	Helper   Helper                            // of DRBD 8.4's fencing; nil: none is there
}

// A Node is one machine's DRBD: kernel state, tools, disks.
type Node struct {
	fabric   *Fabric
	name     string
	version  drbd.Version
	disks    Disks
	readFile func(string) ([]byte, error)
	helper   Helper

	on        bool
	boots     int
	streams   int // goes up when event streams are ended
	resources map[string]*resource
	lkbd      map[drbd.Minor]int64 // /var/lib/drbd: size of the disk when last seen
	told      map[string][]object  // what followers know, by resource
	followers map[*follower]struct{}
	faults    []*Fault
	runs      []string
	power     context.Context //nolint:containedctx // ends with the node's power, which outlives every call
	cut       context.CancelFunc
	helped    []int // what the helper answered
}

// AddNode adds a node, with power on.
func (f *Fabric) AddNode(c NodeConfig) *Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := &Node{
		fabric: f, name: c.Name, version: c.Version, disks: c.Disks, readFile: c.ReadFile, helper: c.Helper,
		on: true, resources: map[string]*resource{}, lkbd: map[drbd.Minor]int64{},
		followers: map[*follower]struct{}{}, told: map[string][]object{},
	}
	if n.disks == nil {
		n.disks = NewMemory()
	}
	if n.readFile == nil {
		n.readFile = func(path string) ([]byte, error) { return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist) }
	}
	if n.helper == nil {
		n.helper = func(context.Context, string) int { return 0 }
	}
	n.power, n.cut = context.WithCancel(context.Background())
	f.nodes[c.Name] = n
	return n
}

// Name gives the node's name.
func (n *Node) Name() string { return n.name }

// Version gives what the node has installed.
func (n *Node) Version() drbd.Version { return n.version }

// PowerOff takes the node's power: kernel state is gone, commands and event
// streams break off, disks keep what was written. Peers notice after their
// ping timeouts.
func (n *Node) PowerOff() {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if !n.on {
		return
	}
	n.on = false
	n.cut()
	for _, r := range n.sorted() {
		for _, d := range r.devices() {
			d.closeDisk()
		}
		for _, c := range r.connections() {
			c.generation++
			c.unlink()
		}
	}
	n.resources = map[string]*resource{}
	n.told = map[string][]object{}
	f.watchLinks()
	f.wake()
}

// PowerOn boots the node. No resource is up.
func (n *Node) PowerOn() {
	n.fabric.mu.Lock()
	defer n.fabric.mu.Unlock()
	if !n.on {
		n.on = true
		n.boots++
		n.power, n.cut = context.WithCancel(context.Background())
		n.fabric.wake()
	}
}

// Ran gives every command line that was run so far, faults included.
func (n *Node) Ran() []string {
	n.fabric.mu.Lock()
	defer n.fabric.mu.Unlock()
	return slices.Clone(n.runs)
}

// sorted gives the resources by name.
func (n *Node) sorted() []*resource {
	var all []*resource
	for _, name := range slices.Sorted(maps.Keys(n.resources)) {
		all = append(all, n.resources[name])
	}
	return all
}

// device finds a device by its minor.
func (n *Node) device(m drbd.Minor) *device {
	for _, r := range n.resources {
		for _, d := range r.devs {
			if d.minor == m {
				return d
			}
		}
	}
	return nil
}

// waiting gives the lock away until something changed, and fails when the
// node lost its power meanwhile.
func (n *Node) waiting(ctx context.Context) error {
	boots := n.boots
	if err := n.fabric.wait(ctx); err != nil {
		return err
	}
	if !n.on || n.boots != boots {
		return errNoPower
	}
	return nil
}
