package script

import (
	"context"
	"io"
	"time"
)

// World is a cluster that scripts act on. Errors name the node.
type World interface {
	// Name is what scripts test for: [sim] or [kernel].
	Name() string
	// Rvol runs the command line from outside the nodes and returns its exit status.
	Rvol(ctx context.Context, stdout, stderr io.Writer, args []string) int

	Kill(node string) error  // loss of power
	Start(node string) error // boots it again
	Cut(a, b string, oneWay bool) error
	Isolate(node string) error
	Heal() error

	StopAgent(node string) error // ends its process, as a crash does
	StartAgent(node string) error
	StopCoordinator(node string) error
	StartCoordinator(node string) error

	// Tool runs a tool of the node, as its administrator would.
	Tool(ctx context.Context, node string, argv []string) (string, error)
	// Holds lists what the node holds of rvol's: a line for each LV, DRBD resource, .res file and link to a device.
	Holds(ctx context.Context, node string) (string, error)
	// Write and Read use the volume's device where it is attached; Write returns when the data is stable.
	Write(ctx context.Context, node, volume string, offset int64, data []byte) error
	Read(ctx context.Context, node, volume string, offset, n int64) ([]byte, error)
	// Hold opens the volume's device as a mount does, until Release.
	Hold(node, volume, who string) error
	Release(node, volume string) error
	// Fault spoils commands of a node's tools from now on: hang, garbage, or fail with an exit status and text.
	Fault(node, verb, kind string, args []string) error
	// Mend ends all faults of a node.
	Mend(node string) error
	// Corrupt writes to a logical volume of the node, VG/NAME, itself, as a disk does that errs silently.
	Corrupt(ctx context.Context, node, lv string, offset int64, data []byte) error
	// Foreign makes a logical volume that is not rvol's.
	Foreign(node, vg, name string, size int64) error
	// Leader names the node whose coordinator leads.
	Leader(ctx context.Context) (string, error)
	// Advance lets time pass.
	Advance(d time.Duration)
}

// A Hardware is a World whose machines can be taken apart.
type Hardware interface {
	// Disk lets what is under a volume group go wrong: break it (every transfer fails) and mend it, take it away and
	// give it back, replace it by an empty one, fill its thin pools with a volume of somebody else; or add one for it.
	Disk(node, vg, what string) error
	// Reinstall sets up a node anew that is off: another machine under the old name, with empty disks.
	Reinstall(ctx context.Context, node string) error
}
