package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/call"
	"rvol/cmd/internal/lab/uml"
	"rvol/cmd/internal/lab/uml/hub"
	"rvol/cmd/internal/lab/uml/image"
	"rvol/cmd/internal/lab/uml/nodeagent"
)

// World is the nodes and their network. It implements lab.World.
type World struct {
	cfg   lab.Config
	self  string // program whose node-agent verb runs in the nodes
	cache string
	disks string // folder of the nodes' disks

	set   image.Set
	hubs  []*hub.Hub // one for each network
	nodes map[string]*node
	mu    sync.Mutex // of hubs: Up and Down
}

// New plans a world; self is a static rvol-lab binary. Nothing happens before Up.
func New(cfg lab.Config, self string) (*World, error) {
	cache, err := lab.CacheDir()
	if err != nil {
		return nil, err
	}
	cfg, err = withDefaults(cfg)
	if err != nil {
		return nil, err
	}
	w := &World{cfg: cfg, self: self, cache: cache, disks: filepath.Join(cache, "disks", cfg.Name), nodes: map[string]*node{}}
	for i := 1; i <= cfg.Nodes; i++ {
		name := lab.NodeName(i)
		w.nodes[name] = &node{name: name, index: i, world: w}
	}
	return w, nil
}

const (
	maxNodes        = 64
	defaultDiskSize = 512 << 20
	defaultMemory   = 256 << 20
)

func withDefaults(c lab.Config) (lab.Config, error) {
	c.Name = cmp.Or(c.Name, "lab")
	c.Dir = cmp.Or(c.Dir, lab.RunDir(c.Name))
	c.Networks = cmp.Or(c.Networks, 1)
	c.DiskSize = cmp.Or(c.DiskSize, defaultDiskSize)
	c.Memory = cmp.Or(c.Memory, defaultMemory)
	switch {
	case c.Nodes < 1 || c.Nodes > maxNodes:
		return c, fmt.Errorf("plan a lab of %d nodes: from 1 to %d", c.Nodes, maxNodes)
	case c.Networks < 1 || c.Networks > 2:
		return c, fmt.Errorf("plan a lab of %d networks: 1 or 2", c.Networks)
	case c.Disks < 0 || c.Disks > uml.MaxDisks:
		return c, fmt.Errorf("plan nodes with %d data disks: from 0 to %d", c.Disks, uml.MaxDisks)
	case c.Memory < uml.MinMemory:
		return c, fmt.Errorf("plan nodes with %d MiB of memory: LVM and DRBD need at least %d MiB", c.Memory>>20, uml.MinMemory>>20)
	case c.DiskSize < 1<<20:
		return c, fmt.Errorf("plan data disks of %d bytes: at least 1 MiB", c.DiskSize)
	}
	return c, nil
}

// Fetch fills the cache with what nodes boot from, and ends.
func Fetch(ctx context.Context, progress io.Writer) error {
	cache, err := lab.CacheDir()
	if err != nil {
		return err
	}
	p := lab.NewProgress(progress)
	set, err := image.Get(ctx, cache, image.FromEnv(os.Getenv), p)
	if err != nil {
		return err
	}
	p.Say("ready: kernel %s, image %s", set.Kernel, set.Root)
	return nil
}

// Up implements lab.World.
func (w *World) Up(ctx context.Context, progress io.Writer) error {
	p := lab.NewProgress(progress)
	if err := uml.CheckMemory(w.cfg.Nodes, w.cfg.Memory); err != nil {
		return err
	}
	var err error
	if w.set, err = image.Get(ctx, w.cache, image.FromEnv(os.Getenv), p); err != nil {
		return err
	}
	if err := w.prepareDisks(ctx, p); err != nil {
		return fmt.Errorf("prepare the disks: %w", err)
	}
	if err := w.startNetworks(); err != nil {
		return fmt.Errorf("start the network: %w", err)
	}
	p.Say("booting %d nodes", w.cfg.Nodes)
	return w.each(func(n *node) error {
		state, err := n.start(ctx)
		if err == nil {
			p.Say("%s: %s", n.name, state)
		}
		return err
	})
}

func (w *World) startNetworks() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ports []string
	for i := 1; i <= w.cfg.Nodes; i++ {
		ports = append(ports, lab.NodeName(i))
	}
	for i := 1; i <= w.cfg.Networks; i++ {
		dir := w.networkDir(i)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		h, err := hub.Listen(dir, ports...)
		if err != nil {
			return err
		}
		w.hubs = append(w.hubs, h)
	}
	return nil
}

func (w *World) networkDir(i int) string { return filepath.Join(w.cfg.Dir, "net"+strconv.Itoa(i)) }

// each does something with all nodes at once and returns all errors.
func (w *World) each(do func(*node) error) error {
	errs := make([]error, w.cfg.Nodes)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = do(w.nodes[lab.NodeName(i+1)]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (w *World) node(name string) (*node, error) {
	n := w.nodes[name]
	if n == nil {
		return nil, fmt.Errorf("find node %s: this lab has n1 to n%d", name, w.cfg.Nodes)
	}
	return n, nil
}

// Exec implements lab.World. It waits for a node that is booting.
func (w *World) Exec(ctx context.Context, name string, c lab.Command) (int, error) {
	if len(c.Argv) == 0 {
		return 0, errors.New("run a command: none given")
	}
	m, err := w.machine(name)
	if err != nil {
		return 0, err
	}
	return m.Exec(ctx, nodeagent.Exec{Argv: c.Argv, Env: c.Env}, call.Streams{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr})
}

// Dial implements lab.World.
func (w *World) Dial(ctx context.Context, name string, port int) (net.Conn, error) {
	n, err := w.node(name)
	if err != nil {
		return nil, err
	}
	m, err := n.running()
	if err != nil {
		return nil, err
	}
	c, err := m.Dial(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return c, nil
	}
	// a server may listen on the node's own address alone
	if c, err2 := m.Dial(ctx, net.JoinHostPort(lab.Address(1, n.index), strconv.Itoa(port))); err2 == nil {
		return c, nil
	}
	return nil, err
}

func (w *World) machine(name string) (*uml.Node, error) {
	n, err := w.node(name)
	if err != nil {
		return nil, err
	}
	return n.running()
}

// Down implements lab.World.
func (w *World) Down(context.Context) error {
	err := w.each(func(n *node) error { return n.kill() })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.hubs {
		err = errors.Join(err, h.Close())
	}
	w.hubs = nil
	if !w.cfg.Keep {
		err = errors.Join(err, os.RemoveAll(w.disks))
	}
	for i := 1; i <= w.cfg.Networks; i++ {
		err = errors.Join(err, os.RemoveAll(w.networkDir(i)))
	}
	return err
}
