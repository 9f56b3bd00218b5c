package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/call"
	"rvol/cmd/internal/lab/uml"
	"rvol/cmd/internal/lab/uml/nodeagent"
)

const (
	bootTimeout = 2 * time.Minute
	stopTimeout = time.Minute
)

// node is one node, on or off.
type node struct {
	name  string
	index int
	world *World

	mu      sync.Mutex
	machine *uml.Node // the newest boot; nil: never booted
	off     bool      // was turned off by us
	booted  time.Duration
	state   string // as systemd says, once booted
}

func (n *node) config() uml.Config {
	w := n.world
	c := uml.Config{
		Name: n.name, Dir: filepath.Join(w.cfg.Dir, n.name),
		Kernel: w.set.Kernel, Root: w.set.Root, COW: w.cowFile(n.name), Layer: w.layerFile(), Memory: w.cfg.Memory,
	}
	for i := 1; i <= w.cfg.Disks; i++ {
		c.Disks = append(c.Disks, w.dataFile(n.name, i))
	}
	for i := 1; i <= w.cfg.Networks; i++ {
		c.NICs = append(c.NICs, uml.NIC{
			Socket:  filepath.Join(w.networkDir(i), n.name+".sock"),
			MAC:     net.HardwareAddr{2, 0, 0, 0, byte(i), byte(n.index)}.String(),
			Address: lab.Address(i, n.index) + "/24",
		})
	}
	for i := 1; i <= w.cfg.Nodes; i++ {
		c.Hosts = append(c.Hosts, lab.NodeName(i)+":"+lab.Address(1, i))
	}
	return c
}

// start boots the node and waits until systemd has started everything; it returns a line for people.
func (n *node) start(ctx context.Context) (string, error) {
	start := time.Now()
	m, err := n.boot()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bootTimeout, fmt.Errorf("%s is not ready after %v", n.name, bootTimeout))
	defer cancel()
	state, err := output(ctx, m, "systemctl", "is-system-running", "--wait")
	if err != nil {
		return "", fmt.Errorf("boot %s: %w: see %s", n.name, err, uml.ConsoleFile(n.config().Dir))
	}
	n.mu.Lock()
	n.booted, n.state = time.Since(start), state
	n.mu.Unlock()
	says := fmt.Sprintf("%s after %.1f s", state, time.Since(start).Seconds())
	if state != "running" {
		failed, err := output(ctx, m, "systemctl", "--failed", "--no-legend", "--plain")
		if err != nil {
			return "", err
		}
		says += ": " + failed
	}
	return says, nil
}

func (n *node) boot() (*uml.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.machine != nil && alive(n.machine) {
		return nil, fmt.Errorf("start %s: it runs already, pid %d", n.name, n.machine.PID())
	}
	m, err := uml.Boot(n.config())
	if err != nil {
		return nil, err
	}
	n.machine, n.off, n.state = m, false, "booting"
	return m, nil
}

func alive(m *uml.Node) bool {
	select {
	case <-m.Done():
		return false
	default:
		return true
	}
}

// running returns the node's machine, or says that it is off.
func (n *node) running() (*uml.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.machine == nil || !alive(n.machine) {
		return nil, fmt.Errorf("%s: %w: rvol-lab start %s boots it", n.name, uml.ErrOff, n.name)
	}
	return n.machine, nil
}

// kill takes the power of a node; one that is off stays off.
func (n *node) kill() error {
	m, err := n.running()
	if err != nil {
		return nil //nolint:nilerr // off is what is wanted
	}
	n.turnedOff()
	m.Kill()
	return nil
}

func (n *node) turnedOff() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = true
}

// stop shuts the node down and waits for the end of its kernel.
func (n *node) stop(ctx context.Context) error {
	m, err := n.running()
	if err != nil {
		return err
	}
	n.turnedOff()
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	// the agent may go before it has answered
	if _, err := output(ctx, m, "systemctl", "poweroff"); err != nil && !errors.Is(err, uml.ErrOff) && ctx.Err() != nil {
		return fmt.Errorf("stop %s: %w", n.name, err)
	}
	select {
	case <-m.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: it still runs after %v: rvol-lab kill %s takes its power", n.name, stopTimeout, n.name)
	}
}

// output is what a command prints on standard output; its exit code does not matter.
func output(ctx context.Context, m *uml.Node, argv ...string) (string, error) {
	var out bytes.Buffer
	_, err := m.Exec(ctx, nodeagent.Exec{Argv: argv}, call.Streams{Stdout: &out})
	return strings.TrimSpace(out.String()), err
}
