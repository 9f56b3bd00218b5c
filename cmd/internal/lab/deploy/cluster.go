package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"rvol/cmd/internal/lab"
)

// The ports of every node.
const (
	APIPort  = 7170
	RaftPort = 7171
)

// What is in a node: disk 1 holds a volume group, disk 2 one with a thin pool.
const (
	Disks    = 2
	ThickVG  = "vg0"
	ThinVG   = "vg1"
	ThinPool = "tp"
)

// A World is a lab whose nodes' ports can be reached from this machine.
type World interface {
	lab.World
	Forward(ctx context.Context, node string, port int) (lab.Forward, error)
}

// Cluster is rvol on the nodes of a world.
type Cluster struct {
	World  World
	Nodes  []string
	Client Client
	Tell   Teller

	// Install puts rvol on a node, as its administrator does; New's takes the programs of the payload.
	Install string
	// Address is where the i-th node is reached by the others, from 1.
	Address func(i int) string
}

// A Teller hears of every command before it runs, and may see what it says.
type Teller interface {
	// Command says that line runs on a machine, "" for this one.
	Command(machine, line string)
	// Say is a line for people.
	Say(format string, args ...any)
}

// New is the cluster of a world with so many nodes, as yet without rvol on it; config is where its client configuration will be.
func New(w World, nodes int, client Client, tell Teller) *Cluster {
	c := &Cluster{
		World: w, Client: client, Tell: tell,
		Install: "ln -sf /opt/rvol/bin/* /usr/bin/; systemctl daemon-reload; systemd-sysusers",
		Address: func(i int) string { return lab.Address(1, i) },
	}
	for i := range nodes {
		c.Nodes = append(c.Nodes, lab.NodeName(i+1))
	}
	return c
}

// On runs a script on a node, as its administrator, and returns what it prints. A script that refuses is an error.
func (c *Cluster) On(ctx context.Context, node, script string) (string, error) {
	var out, text strings.Builder
	code, err := c.World.Exec(ctx, node, lab.Command{Argv: []string{"sh", "-euc", script}, Stdout: &out, Stderr: &text})
	if err == nil && code != 0 {
		err = fmt.Errorf("on %s: exit status %d: %s", node, code, strings.TrimSpace(text.String()))
	}
	return strings.TrimSpace(out.String()), err
}

// do tells a command and runs it on a node.
func (c *Cluster) do(ctx context.Context, node, line string) error {
	c.Tell.Command(node, line)
	_, err := c.On(ctx, node, line)
	return err
}

// each does something on all of the nodes at once and returns all errors.
func (c *Cluster) each(nodes []string, do func(node string) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Logs writes everything that tells what happened on a node.
func (c *Cluster) Logs(ctx context.Context, node string, w io.Writer) error {
	err := c.World.Logs(ctx, node, w)
	if err != nil {
		return err
	}
	_, _ = c.World.Exec(ctx, node, lab.Command{ // a node that is off, or simulated, has no shell
		Argv: []string{"sh", "-c", `echo "--- state"; drbdsetup status --verbose --statistics; cat /proc/drbd; lvs -a -o +lv_tags
			grep -rs . /etc/drbd.d/rvol | grep -v shared-secret; ls -lR /var/lib/rvol /dev/rvol; journalctl -k --no-pager -o short-monotonic`},
		Stdout: w, Stderr: w,
	})
	return nil
}
