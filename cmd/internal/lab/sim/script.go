package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"rvol/cmd/internal/cli"
	"rvol/drbd"
	"rvol/lvm"
	adminv1 "rvol/proto/admin/v1"
)

// Scripted lets scripts act on a simulated cluster; it is a script.World.
type Scripted struct {
	*Cluster

	mu     sync.Mutex
	holds  map[string]func() // by node and volume
	faults map[string][]func()
}

// NewScripted wraps a cluster.
func NewScripted(c *Cluster) *Scripted {
	return &Scripted{Cluster: c, holds: map[string]func(){}, faults: map[string][]func(){}}
}

// Name is what scripts test for.
func (s *Scripted) Name() string { return "sim" }

// Rvol runs the command line from outside the nodes.
func (s *Scripted) Rvol(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	return cli.Run(ctx, cli.Env{
		Stdin: bytes.NewReader(nil), Stdout: stdout, Stderr: stderr,
		Dial: s.Dial, Endpoints: s.Endpoints(),
		Getenv: func(string) string { return "" }, Now: time.Now, IsTerminal: func(any) bool { return false },
	}, args)
}

// Kill takes a node's power.
func (s *Scripted) Kill(node string) error { return s.with(node, (*Node).Kill) }

// Start boots a node.
func (s *Scripted) Start(node string) error { return s.with(node, (*Node).Boot) }

func (s *Scripted) with(node string, f func(*Node) error) error {
	n, err := s.Node(node)
	if err != nil {
		return err
	}
	return f(n)
}

// Cut loses everything between two nodes.
func (s *Scripted) Cut(a, b string, oneWay bool) error {
	if _, err := s.Node(a); err != nil {
		return err
	}
	if _, err := s.Node(b); err != nil {
		return err
	}
	s.Cluster.Cut(a, b, oneWay)
	return nil
}

// Isolate cuts a node from all others.
func (s *Scripted) Isolate(node string) error {
	return s.with(node, func(*Node) error { s.Cluster.Isolate(node); return nil })
}

// Heal repairs every link.
func (s *Scripted) Heal() error { s.Cluster.Heal(); return nil }

// StopAgent ends the node's agent.
func (s *Scripted) StopAgent(node string) error {
	return s.with(node, func(n *Node) error { n.stopAgent(); return nil })
}

// StartAgent runs it again.
func (s *Scripted) StartAgent(node string) error { return s.with(node, (*Node).startAgent) }

// StopCoordinator ends the node's coordinator.
func (s *Scripted) StopCoordinator(node string) error { return s.with(node, (*Node).stopCoordinator) }

// StartCoordinator runs it again.
func (s *Scripted) StartCoordinator(node string) error { return s.with(node, (*Node).startCoordinator) }

// Tool runs a tool of the node.
func (s *Scripted) Tool(ctx context.Context, node string, argv []string) (string, error) {
	n, err := s.Node(node)
	if err != nil {
		return "", err
	}
	out, err := n.Run(ctx, argv...)
	return string(out), err
}

// Holds lists the node's logical volumes, DRBD resources, .res files and links to devices.
func (s *Scripted) Holds(ctx context.Context, node string) (string, error) {
	n, err := s.Node(node)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	report, err := lvm.New(n.Run).Report(ctx)
	if err != nil {
		return "", err
	}
	for _, lv := range report.LVs {
		fmt.Fprintf(&out, "lv %s/%s\n", lv.VG, lv.Name)
	}
	resources, err := drbd.New(n.Run, s.DRBD).StatusAll(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range resources {
		fmt.Fprintf(&out, "drbd %s\n", r.Name)
	}
	files, err := n.Files("etc/drbd.d/rvol")
	for _, f := range files {
		fmt.Fprintf(&out, "file %s\n", f)
	}
	links, linkErr := n.links()
	return out.String() + links, errors.Join(err, linkErr)
}

// links lists the symlinks to DRBD devices.
func (n *Node) links() (string, error) {
	var out strings.Builder
	for _, pattern := range []string{"dev/rvol/*", "dev/drbd/by-res/*/*"} {
		paths, err := filepath.Glob(filepath.Join(n.Root, pattern))
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			to, err := os.Readlink(path)
			if errors.Is(err, os.ErrNotExist) {
				continue // the agent took it away meanwhile
			}
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "link %s %s\n", strings.TrimPrefix(path, n.Root), filepath.Base(to))
		}
	}
	return out.String(), nil
}

// minor finds the DRBD minor behind the stable path of a volume's first device.
func (n *Node) minor(volume string) (drbd.Minor, error) {
	target, err := os.Readlink(filepath.Join(n.Root, "dev/rvol", volume))
	if err != nil {
		return 0, fmt.Errorf("node %s has no /dev/rvol/%s: %w", n.Name, volume, err)
	}
	m := regexp.MustCompile(`drbd(\d+)$`).FindStringSubmatch(target)
	if m == nil {
		return 0, fmt.Errorf("node %s: /dev/rvol/%s leads to %s, which is no DRBD device", n.Name, volume, target)
	}
	minor, err := strconv.Atoi(m[1])
	return drbd.Minor(minor), err
}

// Write writes through the volume's device and returns when the data is stable.
func (s *Scripted) Write(ctx context.Context, node, volume string, offset int64, data []byte) error {
	return s.with(node, func(n *Node) error {
		m, err := n.minor(volume)
		if err != nil {
			return err
		}
		return n.DRBD.Write(ctx, m, offset, data)
	})
}

// Read reads through the volume's device.
func (s *Scripted) Read(ctx context.Context, node, volume string, offset, size int64) (data []byte, err error) {
	err = s.with(node, func(n *Node) error {
		m, err := n.minor(volume)
		if err != nil {
			return err
		}
		data, err = n.DRBD.Read(ctx, m, offset, size)
		return err
	})
	return data, err
}

// Hold opens the volume's device in the name of a process, as a mount does.
func (s *Scripted) Hold(node, volume, who string) error {
	return s.with(node, func(n *Node) error {
		m, err := n.minor(volume)
		if err != nil {
			return err
		}
		closed, err := n.DRBD.Open(m, who)
		if err != nil {
			return err
		}
		process, err := n.process(m, who)
		if err != nil {
			return err
		}
		done := func() {
			closed()
			_ = os.RemoveAll(process) // nobody reads it any more
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.holds[node+" "+volume] = done
		return nil
	})
}

// process makes what /proc tells of a process that has a device open.
func (n *Node) process(m drbd.Minor, name string) (dir string, err error) {
	dir = filepath.Join(n.Root, "proc", strconv.Itoa(4000+int(m)))
	if err := os.MkdirAll(filepath.Join(dir, "fd"), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "comm"), []byte(name+"\n"), 0o600); err != nil {
		return "", err
	}
	return dir, os.Symlink(fmt.Sprintf("/dev/drbd%d", m), filepath.Join(dir, "fd/9"))
}

// Release closes what Hold opened.
func (s *Scripted) Release(node, volume string) error {
	s.mu.Lock()
	done := s.holds[node+" "+volume]
	delete(s.holds, node+" "+volume)
	s.mu.Unlock()
	if done == nil {
		return fmt.Errorf("nobody holds %s on %s", volume, node)
	}
	done()
	return nil
}

// Reinstall sets up a node anew.
func (s *Scripted) Reinstall(ctx context.Context, node string) error {
	return s.with(node, func(n *Node) error { return n.Reinstall(ctx) })
}

// Leader names the node whose coordinator leads.
func (s *Scripted) Leader(ctx context.Context) (string, error) {
	var errs []error
	for _, e := range s.Endpoints() {
		conn, err := s.Dial(ctx, e)
		if err != nil {
			return "", err
		}
		call, cancel := context.WithTimeout(ctx, time.Second)
		st, err := adminv1.NewClusterClient(conn).Status(call, &adminv1.ClusterStatusRequest{Stale: true})
		cancel()
		closeConn(conn)
		if err == nil && st.GetLeader() != "" {
			return st.GetLeader(), nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no coordinator knows a leader: %w", errors.Join(errs...))
}

// Advance lets time pass.
func (s *Scripted) Advance(d time.Duration) { time.Sleep(d) }
