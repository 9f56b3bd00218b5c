package storage

import (
	"context"
	"errors"

	"rvol/lvm"
)

// A Backend keeps devices in one volume group or thin pool. Every method may be
// called again after a crash, and by several goroutines.
type Backend interface {
	// Space tells how much there is, how much is taken and by whom.
	Space(ctx context.Context) (Space, error)
	// Devices lists the devices of this cluster, sorted by name.
	Devices(ctx context.Context) ([]Device, error)
	// Create makes a device and activates it. One that is there already with
	// the same tags is returned as it is; with other tags it is ErrForeign.
	Create(ctx context.Context, s Spec) (Device, error)
	// Activate makes the device node of an existing device appear.
	Activate(ctx context.Context, id Identity) (Device, error)
	// Grow makes a device at least so many bytes large; larger already: as it is.
	Grow(ctx context.Context, id Identity, size int64) (Device, error)
	// Remove destroys a device. Already gone is no error; open is ErrInUse;
	// another UUID or other tags under that name is ErrForeign.
	Remove(ctx context.Context, id Identity) error
}

// What a Backend can refuse besides the refusals of package lvm.
var (
	// ErrForeign: what is there under that name is not what the order means.
	ErrForeign = errors.New("device belongs to somebody else")
	// ErrInUse: somebody holds the device open, or it has snapshots.
	ErrInUse = lvm.ErrInUse
	// ErrUnavailable: the volume group or pool is missing, exported, or
	// another one came back under its name.
	ErrUnavailable = errors.New("volume group is unavailable")
	// ErrStuck: a command that changes the group has not ended.
	ErrStuck = errors.New("volume group is stuck")
)

// A Spec is a device to be made.
type Spec struct {
	Name lvm.Name
	Size int64 // bytes; rounded up to whole extents
	Tags []string
	Wipe Wipe // thick devices only: thin ones read zeros
}

// An Identity is all that must match before a device is touched.
type Identity struct {
	Name lvm.Name
	UUID string // of the logical volume
	Tags []string
}

// A Device is a backing device of a replica.
type Device struct {
	Name        lvm.Name
	UUID        string
	Path        string // of the device node, "/dev/vg0/rvol-db.0.1"
	Size        int64  // bytes
	Tags        []string
	Active      bool
	Open        bool
	Partial     bool        // some of it is on a missing disk
	Used        lvm.Percent // thin: how much of it holds data
	JustCreated bool        // made by the call that returned it: nobody ever wrote to it
}

// Space is what a volume group or thin pool holds.
type Space struct {
	VG         string
	VGUUID     string
	ExtentSize int64 // bytes
	// Of a thick backend the extents of the group, of a thin one those of the
	// pool: all, unused, and taken by what is not ours.
	Extents        int64
	FreeExtents    int64
	ForeignExtents int64
	Partial        bool // physical volumes are missing: no growth
	Pool           *PoolSpace
}

// PoolSpace is what more there is to say of a thin pool.
type PoolSpace struct {
	Name         string
	UUID         string
	Size         int64 // bytes
	Virtual      int64 // bytes promised to all its volumes, ours or not
	Used         lvm.Percent
	MetadataUsed lvm.Percent
	Zero         bool   // new blocks read zeros
	WhenFull     string // "error" as it should be, or "queue"
	Health       string // "" is well
}

// A Wipe says what becomes of the blocks that an earlier owner left in a new
// thick device. What Grow adds is not wiped.
type Wipe string

// The ways to wipe. WipeNone, the default, is safe for replicas because DRBD's
// first synchronisation overwrites every block of all but the first copy; but
// who may read the raw volume may read what was there.
const (
	WipeNone    Wipe = "none"
	WipeDiscard Wipe = "discard" // tell the disk to forget; zeroed where the disk cannot
	WipeZero    Wipe = "zero"    // write zeros; takes as long as writing the whole device
)

// Tags of ours. Both are set in the command that creates the volume.
const (
	clusterTag     = "rvol.cluster="
	reservationTag = "rvol.reservation="
	// wipingTag is there from creation until a wipe is complete: a device
	// that carries it was never handed out.
	wipingTag = "rvol.wiping"
)

// Tags are the tags of a device: whose cluster, and which reservation.
func Tags(cluster, reservation string) []string {
	return []string{clusterTag + cluster, reservationTag + reservation}
}
