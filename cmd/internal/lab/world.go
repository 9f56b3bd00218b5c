package lab

import (
	"context"
	"io"
	"net"
	"time"
)

// A World is a set of nodes n1, n2, ... on one network. Its methods may be called from several goroutines.
type World interface {
	// Up makes and starts all nodes and returns when they are ready for work; progress receives lines for people.
	Up(ctx context.Context, progress io.Writer) error
	// Exec runs one command on a node and returns its exit code (128 + signal if one ended it).
	// An error means that the command was not run, or that nobody knows how it ended.
	Exec(ctx context.Context, node string, c Command) (int, error)
	// Kill is loss of power: what was not flushed to disk is gone.
	Kill(ctx context.Context, node string) error
	// Start boots a node that is off, on the disks it had.
	Start(ctx context.Context, node string) error
	// Stop shuts a node down cleanly.
	Stop(ctx context.Context, node string) error
	// Disturb changes what a link does, from now on; a later fault of the same link replaces an earlier one.
	Disturb(ctx context.Context, f Fault) error
	// Heal ends every fault.
	Heal(ctx context.Context) error
	// Logs writes a node's console and the journal of its rvol units.
	Logs(ctx context.Context, node string, w io.Writer) error
	// Status tells what runs.
	Status(ctx context.Context) (Status, error)
	// Dial connects to a TCP port of a node, whatever the faults of its network.
	Dial(ctx context.Context, node string, port int) (net.Conn, error)
	// Push copies the file or folder src of this machine to the path dst on a node.
	Push(ctx context.Context, node, src, dst string) error
	// Down ends every node and removes what Up made; disks stay when Config.Keep is set.
	Down(ctx context.Context) error
}

// Worlds are the kinds of world a program can make, by name.
type Worlds map[string]func(Config) (World, error)

// Config says what a world shall have.
type Config struct {
	Name     string // of the lab; several may run side by side
	Dir      string // sockets and logs; short, see RunDir
	Nodes    int
	Networks int    // 1 or 2
	Disks    int    // data disks of each node
	DiskSize int64  // bytes
	Memory   int64  // bytes of each node
	Payload  string // folder laid at /opt/rvol of each node; "": none
	Keep     bool   // Up takes the disks of an earlier lab of this name, Down leaves them
}

// A Command is what Exec runs.
type Command struct {
	Argv   []string
	Env    []string  // added to a small fixed environment
	Stdin  io.Reader // nil: empty
	Stdout io.Writer // nil: discarded
	Stderr io.Writer // nil: discarded
}

// A Fault is what the link between two nodes does from now on. The zero fault is a healthy link.
type Fault struct {
	A, B    string        // B "": every other node
	OneWay  bool          // only what A sends to B
	Network int           // 1 or 2; 0: all
	Cut     bool          // nothing passes
	Drop    int           // percent of the frames that get lost
	Delay   time.Duration // added to every frame
}

// Status tells what runs in a world.
type Status struct {
	World    string
	Name     string
	Dir      string
	Nodes    []NodeStatus
	Links    []string  // faults in force, for people
	Forwards []Forward // host ports that lead into nodes
}

// NodeStatus tells how one node is.
type NodeStatus struct {
	Name    string
	State   string // off, booting, running, degraded, dead
	Detail  string // why it is dead, what failed
	PID     int    // of its kernel; 0: none of its own
	Address string
	Kernel  string
	DRBD    string
	Booted  time.Duration // from start to ready
}

// A Forward leads from a port of this machine to a port of a node.
type Forward struct {
	Listen string
	Node   string
	Port   int
}
