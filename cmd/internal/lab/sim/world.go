package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rvol/cmd/internal/lab"
)

// World is a simulated cluster as a lab: what a laptop runs where real kernels cannot. Up
// brings up rvol with it, for there is nothing else to do with such nodes.
type World struct {
	cfg lab.Config
	s   *Scripted
	log *os.File
}

// NewWorld plans a world; nothing happens before Up.
func NewWorld(cfg lab.Config) (*World, error) {
	if cfg.Nodes < 1 || cfg.Nodes > 64 {
		return nil, fmt.Errorf("plan a lab of %d nodes: from 1 to 64", cfg.Nodes)
	}
	if cfg.Payload != "" {
		return nil, errors.New("plan a simulated lab: its nodes run nothing but rvol, and take no payload")
	}
	return &World{cfg: cfg}, nil
}

// Up makes the nodes and a cluster on them, and returns when all have joined.
func (w *World) Up(ctx context.Context, progress io.Writer) (err error) {
	dir := stateIn(w.cfg.Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if w.log, err = os.OpenFile(w.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	c, err := New(Config{Dir: dir, Nodes: w.cfg.Nodes, GroupSize: w.cfg.DiskSize, Version: "lab", Log: slog.New(slog.NewTextHandler(w.log, nil))})
	if err != nil {
		return err
	}
	w.s = NewScripted(c)
	fmt.Fprintf(progress, "%d simulated nodes, each with vg0 and vg1 (thin pool tp) of %d MiB\n", w.cfg.Nodes, c.GroupSize>>20)
	if err := c.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(progress, "%d coordinators and %d agents run; the admin's client configuration is %s\n", c.Coordinators, w.cfg.Nodes, c.AdminConfig())
	return nil
}

func (w *World) logPath() string { return filepath.Join(w.cfg.Dir, "sim.log") }

func stateIn(dir string) string { return filepath.Join(dir, "sim") }

// AdminConfigIn is the path of the client configuration that Up writes for a lab in dir.
// Its endpoints are names of the simulated network: reach them through Dial.
func AdminConfigIn(dir string) string { return adminConfig(stateIn(dir)) }

// Exec runs a tool of LVM's or DRBD's, or one of these: write VOLUME TEXT [OFFSET],
// read VOLUME BYTES [OFFSET], hold VOLUME NAME, release VOLUME, cat FILE.
func (w *World) Exec(ctx context.Context, node string, c lab.Command) (int, error) {
	n, err := w.s.Node(node)
	if err != nil {
		return 0, err
	}
	if n.Off() {
		return 0, fmt.Errorf("node %s is off", node)
	}
	if len(c.Argv) == 0 {
		return 0, errors.New("run a command: none was given")
	}
	out, err := w.builtin(ctx, n, c.Argv)
	if c.Stdout != nil {
		_, _ = c.Stdout.Write(out) // the caller's own writer: it knows
	}
	if exit, ok := errors.AsType[interface {
		error
		ExitCode() int
		Stderr() []byte
	}](err); ok {
		if c.Stderr != nil {
			_, _ = c.Stderr.Write(exit.Stderr()) // likewise
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (w *World) builtin(ctx context.Context, n *Node, argv []string) ([]byte, error) {
	arg := func(i int) string {
		if i < len(argv) {
			return argv[i]
		}
		return ""
	}
	number := func(s string) int64 { v, _ := strconv.ParseInt(s, 10, 64); return v } // "" is 0
	switch filepath.Base(argv[0]) {
	case "write":
		return nil, w.s.Write(ctx, n.Name, arg(1), number(arg(3)), []byte(arg(2)))
	case "read":
		return w.s.Read(ctx, n.Name, arg(1), number(arg(3)), number(arg(2)))
	case "hold":
		return nil, w.s.Hold(n.Name, arg(1), arg(2))
	case "release":
		return nil, w.s.Release(n.Name, arg(1))
	case "cat":
		return os.ReadFile(filepath.Join(n.Root, filepath.Clean("/"+arg(1))))
	}
	return n.Run(ctx, append([]string{filepath.Base(argv[0])}, argv[1:]...)...)
}

// Kill is loss of power.
func (w *World) Kill(_ context.Context, node string) error { return w.s.Kill(node) }

// Start boots a node that is off.
func (w *World) Start(_ context.Context, node string) error { return w.s.Start(node) }

// Stop ends a node's processes, then takes its power.
func (w *World) Stop(_ context.Context, node string) error {
	n, err := w.s.Node(node)
	if err != nil {
		return err
	}
	n.stopAgent()
	if err := n.stopCoordinator(); err != nil {
		return err
	}
	return n.Kill()
}

// Disturb changes what a link does: the simulated network knows cut links only.
func (w *World) Disturb(_ context.Context, f lab.Fault) error {
	if f.Drop > 0 {
		return errors.New("disturb a link: the simulated network loses nothing; cut it instead")
	}
	if _, err := w.s.Node(f.A); err != nil {
		return err
	}
	if f.B == "" {
		w.s.Cluster.Isolate(f.A)
		return nil
	}
	if _, err := w.s.Node(f.B); err != nil {
		return err
	}
	w.s.fabric.Delay(f.A, f.B, f.Delay)
	if f.Cut {
		w.s.Cluster.Cut(f.A, f.B, f.OneWay)
	}
	return nil
}

// Heal ends every fault.
func (w *World) Heal(context.Context) error { w.s.Cluster.Heal(); return nil }

// Logs writes what the node's coordinator and agent logged.
func (w *World) Logs(_ context.Context, node string, out io.Writer) error {
	if _, err := w.s.Node(node); err != nil {
		return err
	}
	b, err := os.ReadFile(w.logPath())
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, " node="+node+" ") {
			if _, err := io.WriteString(out, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// Status tells what runs.
func (w *World) Status(context.Context) (lab.Status, error) {
	st := lab.Status{World: "sim", Name: w.cfg.Name, Dir: w.cfg.Dir}
	for _, n := range w.s.Nodes() {
		s := lab.NodeStatus{
			Name: n.Name, State: "running", Address: n.address(), Kernel: "simulated",
			DRBD: w.s.DRBD.Kernel.String() + " (simulated)", PID: os.Getpid(),
		}
		if n.Off() {
			s.State, s.PID = "off", 0
		}
		st.Nodes = append(st.Nodes, s)
	}
	st.Links = append(st.Links, w.s.net.faults()...)
	return st, nil
}

// Dial connects to a TCP port of a node, whatever the faults of its network.
func (w *World) Dial(ctx context.Context, node string, port int) (net.Conn, error) {
	return w.s.DialRaw(ctx, node, port)
}

// Push copies a file onto a node.
func (w *World) Push(_ context.Context, node, src, dst string) error {
	n, err := w.s.Node(node)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	path := filepath.Join(n.Root, filepath.Clean("/"+dst))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// Down ends every node and removes what Up made.
func (w *World) Down(context.Context) error {
	if w.s == nil {
		return nil
	}
	err := w.s.Close()
	_ = w.log.Close() // a log for people
	return errors.Join(err, os.RemoveAll(w.s.Dir))
}
