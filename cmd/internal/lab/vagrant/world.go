package vagrant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rvol/cmd/internal/lab"
	packaging "rvol/packaging/lab"
)

// Nodes is how many machines the Vagrantfile has.
const Nodes = 3

// World is the machines. It implements lab.World.
type World struct {
	root string // folder of the Vagrantfile
	dir  string // of the lab: how ssh reaches the machines
	self string // static rvol-lab binary, which is laid on the machines
}

// New finds vagrant and the Vagrantfile, in the present folder or one above; self is a static rvol-lab binary.
func New(c lab.Config, self string) (*World, error) {
	if _, err := exec.LookPath("vagrant"); err != nil {
		return nil, fmt.Errorf("use the machines of the Vagrantfile: vagrant is not installed (%w): install it with a provider, libvirt or VirtualBox; "+
			"or take the kernel lab, which needs neither", err)
	}
	if c.Nodes > Nodes {
		return nil, fmt.Errorf("use %d machines: the Vagrantfile has %d", c.Nodes, Nodes)
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "Vagrantfile")); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			return nil, errors.New("find the Vagrantfile: there is none in this folder or above: run it in the project's")
		}
		root = filepath.Dir(root)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	return &World{root: root, dir: c.Dir, self: self}, nil
}

// Address is where the i-th machine is reached by the others, from 1; the Vagrantfile says so.
func Address(i int) string { return "192.168.56." + strconv.Itoa(10+i) }

// Install puts rvol on a machine: the packages were, when it was made.
const Install = "systemctl daemon-reload"

func index(node string) (int, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(node, "n"))
	if err != nil || i < 1 || i > Nodes || node != lab.NodeName(i) {
		return 0, fmt.Errorf("find node %q: the Vagrantfile has n1 to n%d", node, Nodes)
	}
	return i, nil
}

func nodes() []string {
	var all []string
	for i := range Nodes {
		all = append(all, lab.NodeName(i+1))
	}
	return all
}

// Up implements lab.World: it starts the machines, or takes those that run, and makes them ones without a cluster.
func (w *World) Up(ctx context.Context, progress io.Writer) error {
	if err := w.vagrant(ctx, progress, "up"); err != nil {
		return err
	}
	if err := w.Reach(ctx); err != nil {
		return err
	}
	for _, n := range nodes() {
		if err := w.empty(ctx, n); err != nil {
			return fmt.Errorf("make %s a machine without a cluster: %w", n, err)
		}
	}
	return nil
}

// Reach asks vagrant how ssh reaches the machines that run.
func (w *World) Reach(ctx context.Context) error {
	var config bytes.Buffer
	if err := w.vagrant(ctx, &config, "ssh-config"); err != nil {
		return err
	}
	return os.WriteFile(w.sshConfig(), config.Bytes(), 0o600)
}

func (w *World) sshConfig() string { return filepath.Join(w.dir, "ssh_config") }

// empty lays what a lab needs on a machine, and takes a cluster away that was there.
func (w *World) empty(ctx context.Context, node string) error {
	folder, err := os.MkdirTemp(w.dir, "layer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := os.CopyFS(folder, packaging.Scripts); err != nil {
		return err
	}
	if err := w.Push(ctx, node, folder, "/opt/lab"); err != nil {
		return err
	}
	if err := w.Push(ctx, node, w.self, "/opt/lab/rvol-lab"); err != nil {
		return err
	}
	return w.must(ctx, node, "sh", "-c", "chmod 755 /opt/lab/*; exec /opt/lab/reset.sh")
}

// vagrant runs one command of vagrant; what it prints goes to out, and to the error when it fails.
func (w *World) vagrant(ctx context.Context, out io.Writer, args ...string) error {
	var said, complained bytes.Buffer // two: they are written to at the same time
	cmd := exec.CommandContext(ctx, "vagrant", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.root, io.MultiWriter(out, &said), &complained
	cmd.Env = append(os.Environ(), "RVOL_FORM=no", "VAGRANT_NO_COLOR=1") // whoever uses the world forms a cluster
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("vagrant %s: %w: %s", strings.Join(args, " "), err, tail(said.String()+complained.String()))
	}
	return nil
}

// tail is the end of what a program said.
func tail(text string) string {
	const enough = 1000
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-enough):]
}

// Kill implements lab.World.
func (w *World) Kill(ctx context.Context, node string) error { return w.halt(ctx, node, "--force") }

// Stop implements lab.World.
func (w *World) Stop(ctx context.Context, node string) error { return w.halt(ctx, node) }

func (w *World) halt(ctx context.Context, node string, flags ...string) error {
	if _, err := index(node); err != nil {
		return err
	}
	return w.vagrant(ctx, io.Discard, append(append([]string{"halt"}, flags...), node)...)
}

// Start implements lab.World.
func (w *World) Start(ctx context.Context, node string) error {
	if _, err := index(node); err != nil {
		return err
	}
	if err := w.vagrant(ctx, io.Discard, "up", "--no-provision", node); err != nil {
		return err
	}
	_, err := w.Exec(ctx, node, lab.Command{Argv: []string{"systemctl", "is-system-running", "--wait"}}) // degraded will do
	return err
}

// Dial implements lab.World. The faults of a lab are between machines.
func (w *World) Dial(ctx context.Context, node string, port int) (net.Conn, error) {
	i, err := index(node)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(Address(i), strconv.Itoa(port)))
}

// Forward is for worlds whose machines cannot be reached: these are.
func (w *World) Forward(_ context.Context, node string, port int) (lab.Forward, error) {
	i, err := index(node)
	if err != nil {
		return lab.Forward{}, err
	}
	return lab.Forward{Listen: net.JoinHostPort(Address(i), strconv.Itoa(port)), Node: node, Port: port}, nil
}

// Status implements lab.World.
func (w *World) Status(ctx context.Context) (lab.Status, error) {
	s := lab.Status{World: "vagrant", Name: "vagrant", Dir: w.dir}
	var out bytes.Buffer
	if err := w.vagrant(ctx, &out, "status", "--machine-readable"); err != nil {
		return s, err
	}
	for line := range strings.Lines(out.String()) { // TIME,NODE,KEY,VALUE
		fields := strings.Split(strings.TrimSpace(line), ",")
		if len(fields) < 4 || fields[2] != "state" {
			continue
		}
		if i, err := index(fields[1]); err == nil {
			s.Nodes = append(s.Nodes, lab.NodeStatus{Name: fields[1], State: fields[3], Address: Address(i)})
		}
	}
	return s, nil
}

// Down implements lab.World. The machines stay, for the next lab: vagrant destroy ends them.
func (w *World) Down(context.Context) error { return os.RemoveAll(w.sshConfig()) }
