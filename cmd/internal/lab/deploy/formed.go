package deploy

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Member is a coordinator, as rvol shows it.
type Member struct {
	Name   string
	Voter  bool
	Leader bool
}

// Node is a node, as rvol shows it.
type Node struct {
	Meta   struct{ Name string }
	Ready  bool
	Fenced bool
	VGs    []struct {
		Name      string
		ThinPools []struct{ Name string } `json:"thin_pools"`
	} `json:"vgs"`
}

// Forming says what is still missing of a cluster: coordinators that vote, nodes that are Ready and have reported their volume groups.
// Nothing: it is formed.
func (c *Cluster) Forming(ctx context.Context) (waiting string, err error) {
	var members []Member
	if err := c.Client.Read(ctx, &members, "cluster", "members"); err != nil {
		return "", err
	}
	var missing []string
	voters := 0
	for _, m := range members {
		if m.Voter {
			voters++
		}
	}
	if want := len(c.coordinators()); voters != want {
		missing = append(missing, fmt.Sprintf("%d of %d coordinators vote", voters, want))
	}
	var nodes []Node
	if err := c.Client.Read(ctx, &nodes, "node", "list"); err != nil {
		return "", err
	}
	ready := 0
	for _, n := range nodes {
		if n.Ready && len(n.VGs) == Disks {
			ready++
		}
	}
	if ready != len(c.Nodes) {
		missing = append(missing, fmt.Sprintf("%d of %d nodes are Ready and have reported their volume groups", ready, len(c.Nodes)))
	}
	return strings.Join(missing, ", "), nil
}

// Formed waits until the cluster is.
func (c *Cluster) Formed(ctx context.Context, patience time.Duration) error {
	return c.until(ctx, patience, func() error {
		waiting, err := c.Forming(ctx)
		if err == nil && waiting != "" {
			err = fmt.Errorf("form the cluster: %s", waiting)
		}
		return err
	})
}

// Node is one node, as rvol shows it.
func (c *Cluster) Node(ctx context.Context, name string) (n Node, err error) {
	return n, c.Client.Read(ctx, &n, "node", "show", name)
}

// Leader names the node whose coordinator leads, "" when there is none.
func (c *Cluster) Leader(ctx context.Context) (string, error) {
	var s struct{ Leader string }
	err := c.Client.Read(ctx, &s, "cluster", "status", "--stale")
	return s.Leader, err
}
