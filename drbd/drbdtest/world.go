package drbdtest

import (
	"context"
	"net/netip"
	"testing"

	"rvol/drbd"
)

// A World is nodes with DRBD, simulated or real, as the suite drives them.
// A failing act of the world itself ends the test.
type World interface {
	// Nodes are at least three, of one version.
	Nodes() []Machine
	// Cut loses everything between two nodes; Heal repairs all links.
	Cut(t *testing.T, a, b Machine)
	Heal(t *testing.T)
	// Eventually tries until there is no error, or the patience of the world
	// has an end.
	Eventually(t *testing.T, what string, try func() error)
}

// A Machine is one node of a World.
type Machine interface {
	Name() string
	Address() netip.Addr
	Version() drbd.Version
	Run(ctx context.Context, argv ...string) ([]byte, error)
	Follow(ctx context.Context, argv []string, line func([]byte) error) error

	// WriteFile makes a file that outlives a loss of power.
	WriteFile(t *testing.T, path string, text []byte)
	// NewDisk makes a block device of zeros; Grow makes it larger.
	NewDisk(t *testing.T, name string, size int64) (path string)
	Grow(t *testing.T, path string, size int64)
	// Corrupt writes to the block device itself, as a disk does that errs silently.
	Corrupt(t *testing.T, path string, off int64, data []byte)
	// PowerOff takes the power, without warning; PowerOn boots.
	PowerOff(t *testing.T)
	PowerOn(t *testing.T)
	// Write and Read use the DRBD device, past every cache. Hold keeps it
	// open.
	Write(ctx context.Context, m drbd.Minor, off int64, data []byte) error
	Read(ctx context.Context, m drbd.Minor, off, length int64) ([]byte, error)
	Hold(t *testing.T, m drbd.Minor) (release func())
}
