package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	packaging "rvol/packaging/lab"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// Up makes the cluster: coordinators on the first three nodes, an agent on each. It returns when systemd says that they run; the cluster
// forms by itself from there, see Formed.
func (c *Cluster) Up(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return fmt.Errorf("prepare the nodes: %w", err)
	}
	if err := c.first(ctx); err != nil {
		return fmt.Errorf("make the first coordinator: %w", err)
	}
	tokens, err := c.tokens(ctx)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var members, nodes error
	all.Go(func() { members = c.joinCoordinators(ctx, tokens) })
	all.Go(func() { nodes = c.joinNodes(ctx, tokens) })
	all.Wait()
	return errors.Join(members, nodes)
}

// tokens makes a token for each machine that is to join, by its kind and name.
func (c *Cluster) tokens(ctx context.Context) (map[string]string, error) {
	tokens := map[string]string{}
	add := func(kind string, names []string) error {
		for _, n := range names {
			token, err := c.token(ctx, kind, n)
			if err != nil {
				return err
			}
			tokens[kind+" "+n] = token
		}
		return nil
	}
	err := add("coordinator", c.coordinators()[1:])
	if err == nil {
		err = add("node", c.Nodes)
	}
	return tokens, err
}

// joinCoordinators lets them join one after the other, as Raft takes them.
func (c *Cluster) joinCoordinators(ctx context.Context, tokens map[string]string) error {
	for _, n := range c.coordinators()[1:] {
		if err := c.joinCoordinator(ctx, n, tokens["coordinator "+n]); err != nil {
			return fmt.Errorf("make %s a coordinator: %w", n, err)
		}
	}
	return nil
}

func (c *Cluster) joinNodes(ctx context.Context, tokens map[string]string) error {
	return c.each(c.Nodes, func(n string) error {
		if err := c.joinNode(ctx, n, tokens["node "+n]); err != nil {
			return fmt.Errorf("make %s a node: %w", n, err)
		}
		return nil
	})
}

// coordinators are the nodes that have one: the first three, or one where there are fewer.
func (c *Cluster) coordinators() []string {
	if len(c.Nodes) < 3 {
		return c.Nodes[:1]
	}
	return c.Nodes[:3]
}

// prepare does what an administrator does before a node joins: volume groups, and rvol with its units and its user.
func (c *Cluster) prepare(ctx context.Context) error {
	provision, err := packaging.Scripts.ReadFile("provision.sh")
	if err != nil {
		return err
	}
	all := strings.Join(c.Nodes, ",")
	c.Tell.Command(all, "packaging/lab/provision.sh")
	c.Tell.Command(all, c.Install)
	return c.each(c.Nodes, func(n string) error {
		_, err := c.On(ctx, n, string(provision)+c.Install+"\nsync -f /usr/bin")
		return err
	})
}

func api(node string) string  { return node + ":" + strconv.Itoa(APIPort) }
func raft(node string) string { return node + ":" + strconv.Itoa(RaftPort) }

// first makes the first coordinator, and the client configuration of this machine.
func (c *Cluster) first(ctx context.Context) error {
	n := c.Nodes[0]
	const admin = "/root/admin.yaml"
	if err := c.do(ctx, n, fmt.Sprintf("rvol-coordinator init --cluster lab --name %s --api %s --raft %s --admin-config %s",
		n, api(n), raft(n), admin)); err != nil {
		return err
	}
	if err := c.do(ctx, n, "systemctl enable -q --now rvol-coordinator"); err != nil {
		return err
	}
	text, err := c.On(ctx, n, "cat "+admin)
	if err != nil {
		return err
	}
	return c.configure(ctx, []byte(text))
}

// configure writes the configuration of this machine's rvol: the administrator's of the cluster, by way of forwarded ports.
func (c *Cluster) configure(ctx context.Context, text []byte) error {
	if err := identity.WriteFile(c.Client.Config, text); err != nil {
		return err
	}
	config, err := clientconfig.Load(c.Client.Config)
	if err != nil {
		return err
	}
	config.Endpoints = nil
	for _, n := range c.coordinators() {
		f, err := c.World.Forward(ctx, n, APIPort)
		if err != nil {
			return err
		}
		config.Endpoints = append(config.Endpoints, f.Listen)
	}
	return config.Save(c.Client.Config)
}

func (c *Cluster) joinCoordinator(ctx context.Context, node, token string) error {
	join := fmt.Sprintf("rvol-coordinator join --name %s --api %s --raft %s --coordinator %s --token ", node, api(node), raft(node), api(c.Nodes[0]))
	c.Tell.Command(node, join+"TOKEN")
	if _, err := c.On(ctx, node, join+token); err != nil {
		return err
	}
	return c.do(ctx, node, "systemctl enable -q --now rvol-coordinator")
}

func (c *Cluster) joinNode(ctx context.Context, node, token string) error {
	join := fmt.Sprintf("rvol-agent join --name %s --zone %s --address default=%s --coordinator %s",
		node, Zone(node), c.address(node), api(c.Nodes[0]))
	c.Tell.Command(node, join+" --token TOKEN")
	if _, err := c.On(ctx, node, join+" --token "+token); err != nil {
		return err
	}
	return c.do(ctx, node, "systemctl enable -q --now rvol-agent")
}

// Zone is where a node stands: z1, z2, z3, z1 ...
func Zone(node string) string {
	i, err := strconv.Atoi(node[1:])
	if err != nil {
		return ""
	}
	return "z" + strconv.Itoa((i-1)%3+1)
}

func (c *Cluster) address(node string) string {
	for i, n := range c.Nodes {
		if n == node {
			return c.Address(i + 1)
		}
	}
	return ""
}

// patience is how long a coordinator that has just started may take to answer.
const patience = 30 * time.Second

// token makes a token for one machine. A cluster that is just electing is asked again.
func (c *Cluster) token(ctx context.Context, kind, name string) (token string, err error) {
	c.Tell.Command("", fmt.Sprintf("rvol token create %s --name %s", kind, name))
	return token, c.until(ctx, patience, func() error {
		token, err = c.Client.Text(ctx, "token", "create", kind, "--name", name, "--quiet")
		return err
	})
}

// until repeats something until it succeeds.
func (c *Cluster) until(ctx context.Context, patience time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", patience, err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}
