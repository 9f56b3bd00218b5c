package sim

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"rvol/agent/agenttest"
	"rvol/agent/host"
	"rvol/coordinator"
	"rvol/coordinator/consensus"
	"rvol/drbd/drbdtest"
)

// Node is one simulated machine with what runs on it.
type Node struct {
	*agenttest.Machine
	c     *Cluster
	index int
	wall  wall

	mu          sync.Mutex
	off         bool
	boots       int
	machines    int // that have had the name before
	coordinator *process
	agent       *process
	missing     map[string]bool // tools that are not installed
	handle      drbdtest.Helper // the agent's answer to DRBD; nil: no agent has listened yet
}

// process is something that runs until it is stopped, or ends by itself.
type process struct {
	stop func()
	done chan struct{}
	err  error // once done
}

func start(run func(context.Context) error) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer cancel()
		p.err = run(ctx)
	}()
	return p
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end stops the process and waits for it.
func (p *process) end() error {
	if p == nil {
		return nil
	}
	p.stop()
	<-p.done
	return p.err
}

func (c *Cluster) newNode(i int) (*Node, error) {
	name := fmt.Sprintf("n%d", i+1)
	n := &Node{c: c, index: i, boots: 1, missing: map[string]bool{}}
	m, err := agenttest.New(c.fabric, agenttest.Config{
		Name: name, Version: c.DRBD, Root: filepath.Join(c.Dir, name), Seed: uint64(i + 1), Helper: n.helper,
		Groups:    map[string]int64{"vg0": c.GroupSize, "vg1": c.GroupSize},
		ThinPools: map[string]string{"vg1": "tp"},
	})
	if err != nil {
		return nil, fmt.Errorf("make node %s: %w", name, err)
	}
	n.Machine = m
	return n, nil
}

// helper is DRBD's handler, which finds the agent or does not.
func (n *Node) helper(ctx context.Context, resource string) int {
	n.mu.Lock()
	handle := n.handle
	if !n.agent.running() {
		handle = nil
	}
	n.mu.Unlock()
	if handle == nil {
		return 1
	}
	return handle(ctx, resource)
}

func (n *Node) api() string            { return net.JoinHostPort(n.Name, strconv.Itoa(APIPort)) }
func (n *Node) raft() string           { return net.JoinHostPort(n.Name, strconv.Itoa(raftPort)) }
func (n *Node) coordinatorDir() string { return filepath.Join(n.Root, "var/lib/rvol/coordinator") }
func (n *Node) agentDir() string       { return filepath.Join(n.Root, "var/lib/rvol/agent") }

// address is the node's replication address.
func (n *Node) address() string { return fmt.Sprintf("10.77.0.%d", n.index+1) }

// dial reaches a port of a node by its name, or by its replication address.
func (n *Node) dial(ctx context.Context, addr string) (net.Conn, error) {
	for _, o := range n.c.nodes {
		port, found := strings.CutPrefix(addr, o.address()+":")
		switch {
		case found && o.Off():
			select {
			case <-time.After(dialTimeout):
			case <-ctx.Done():
			}
			return nil, &net.OpError{Op: "dial", Net: "sim", Addr: address(addr), Err: syscall.ETIMEDOUT}
		case found:
			addr = net.JoinHostPort(o.Name, port)
		}
	}
	return n.c.net.dial(ctx, n.Name, addr)
}

func (n *Node) hasCoordinator() bool { return n.index < n.c.Coordinators }

// stableFor is how long a coordinator that caught up waits before it votes: nobody's
// memory of a simulated cluster is worth more patience.
const stableFor = 2 * time.Second

func (n *Node) startCoordinator() error {
	api, err := n.c.net.listen(n.api())
	if err != nil {
		return err
	}
	raft, err := n.c.net.listen(n.raft())
	if err != nil {
		return err
	}
	watched, err := n.c.net.listen(fmt.Sprintf("%s:%d", n.Name, CoordinatorMetricsPort))
	if err != nil {
		return err
	}
	config := coordinator.Config{
		Dir: n.coordinatorDir(), API: api, Raft: raft, Metrics: watched, Dial: n.dial, Heartbeat: n.c.Heartbeat, Leftovers: n.c.Leftovers, Clock: n.wall.now,
		StableFor: stableFor, Version: n.c.Version, Log: n.c.Log.With("node", n.Name),
	}
	if n.c.Dashboard != nil {
		if config.Dashboard.Listener, err = n.c.Dashboard(n.Name); err != nil {
			return err
		}
		config.Dashboard.Host = "localhost"
	}
	if n.c.Free != nil {
		config.Free = func() (consensus.Space, error) { return n.c.Free(n.Name) }
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.coordinator = start(func(ctx context.Context) error {
		defer func() { _, _, _ = api.Close(), raft.Close(), watched.Close() }() // closing a port in memory cannot fail
		return coordinator.Run(ctx, config)
	})
	return nil
}

func (n *Node) stopCoordinator() error {
	n.mu.Lock()
	p := n.coordinator
	n.mu.Unlock()
	return p.end()
}

func (n *Node) stopAgent() {
	n.mu.Lock()
	p := n.agent
	n.mu.Unlock()
	_ = p.end() // why it ended is in the log
}

// Kill takes the node's power: its kernel, its processes and its connections are gone
// at once, its disks keep what was written.
func (n *Node) Kill() error {
	n.mu.Lock()
	if n.off {
		n.mu.Unlock()
		return fmt.Errorf("node %s is off already", n.Name)
	}
	n.off = true
	n.mu.Unlock()
	n.c.net.silence(n.Name)
	if err := n.PowerOff(); err != nil {
		return err
	}
	n.stopAgent()
	_ = n.stopCoordinator() // it lost its ports: whatever it says now is of no interest
	return nil
}

// Boot brings the node back with what its disks hold.
func (n *Node) Boot() error {
	n.mu.Lock()
	if !n.off {
		n.mu.Unlock()
		return fmt.Errorf("node %s is on already", n.Name)
	}
	n.off = false
	n.boots++
	n.mu.Unlock()
	n.PowerOn()
	if n.hasCoordinator() {
		if err := n.startCoordinator(); err != nil {
			return err
		}
	}
	return n.startAgent()
}

// Reinstall makes a node that is off another machine under the old name: nothing of the
// agent's is there, and the disks are empty.
func (n *Node) Reinstall(ctx context.Context) error {
	n.mu.Lock()
	if !n.off || n.hasCoordinator() {
		n.mu.Unlock()
		return fmt.Errorf("node %s is on, or has a coordinator: that is set up in another way", n.Name)
	}
	n.off = false
	n.boots++
	n.machines++
	n.mu.Unlock()
	for _, dir := range []string{n.agentDir(), filepath.Join(n.Root, "etc/drbd.d")} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	n.LVM.ReplaceGroup("vg0")
	n.LVM.ReplaceGroup("vg1")
	n.PowerOn()
	return n.c.joinAgent(ctx, n)
}

// AgentRuns says whether the node's agent does.
func (n *Node) AgentRuns() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.agent.running()
}

// CoordinatorRuns says whether the node's coordinator does.
func (n *Node) CoordinatorRuns() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.coordinator.running()
}

// State is where the node's agent remembers.
func (n *Node) State() string { return n.agentDir() }

// Off says whether the node has no power.
func (n *Node) Off() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.off
}

// run runs one tool, unless it is not installed, for as long as it may take.
func (n *Node) run(ctx context.Context, argv ...string) ([]byte, error) {
	if err := n.find(argv[0]); err != nil {
		return nil, err
	}
	if class := host.ClassOf(argv); class != host.Change { // what changes LVM is not killed
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, host.Deadline(class))
		defer cancel()
	}
	if n.c.Tool == nil {
		return n.Run(ctx, argv...)
	}
	return n.c.Tool(ctx, n.Name, argv, func() ([]byte, error) { return n.Run(ctx, argv...) })
}

// packageOf is where a tool comes from, as the agent's own search tells it.
var packageOf = map[string]string{
	"drbdadm": "drbd-utils", "drbdsetup": "drbd-utils", "drbdmeta": "drbd-utils",
	"lvm": "lvm2", "vgs": "lvm2", "lvs": "lvm2", "thin_check": "thin-provisioning-tools",
}

// find is what the host's search for a tool says.
func (n *Node) find(tool string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.missing[tool] {
		return &host.MissingToolError{Tool: tool, Package: packageOf[tool]}
	}
	return nil
}
