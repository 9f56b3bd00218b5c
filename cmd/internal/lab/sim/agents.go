package sim

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"rvol/agent"
	"rvol/agent/host"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// ask makes a client of the first coordinator with an admin's identity.
func (c *Cluster) token(ctx context.Context, kind, name string) (string, error) {
	conn, err := c.Dial(ctx, c.Endpoints()[0])
	if err != nil {
		return "", err
	}
	defer closeConn(conn)
	var last error
	for range 100 {
		t, err := adminv1.NewTokensClient(conn).Create(ctx, &adminv1.CreateTokenRequest{Kind: kind, Subject: name})
		if err == nil {
			return t.GetText(), nil
		}
		last = err
		select { // the first coordinator is still electing itself
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("make a token for %s %s: %w", kind, name, last)
}

func closeConn(conn any) {
	if c, ok := conn.(interface{ Close() error }); ok {
		_ = c.Close() // the answer is here, or will not come
	}
}

// joinAgent makes the node join, and starts its agent.
func (c *Cluster) joinAgent(ctx context.Context, n *Node) error {
	token, err := c.token(ctx, "node", n.Name)
	if err != nil {
		return err
	}
	_, err = agent.Join(ctx, agent.JoinConfig{
		State: n.agentDir(), Token: token, Coordinators: c.Endpoints(), Name: n.Name, Zone: zone(n.index),
		Addresses: n.addresses(), Simulated: true, Dial: n.dial,
	})
	if err != nil {
		return fmt.Errorf("join node %s: %w", n.Name, err)
	}
	return n.startAgent()
}

// zone spreads the nodes over three zones: z1, z2, z3, z1 ...
func zone(i int) string { return "z" + strconv.Itoa(i%3+1) }

func (n *Node) addresses() map[string]string {
	return map[string]string{agent.DefaultNetwork: n.address()}
}

// health is the agent's own door, at the node's replication address.
func (n *Node) health() agent.Health {
	return agent.Health{
		Addr:  netip.AddrPortFrom(netip.MustParseAddr(n.address()), agentHealthPort),
		Check: func() error { return nil },
		Listen: func(context.Context) (net.Listener, error) {
			return n.c.net.listen(fmt.Sprintf("%s:%d", n.Name, agentHealthPort))
		},
	}
}

// startAgent runs the agent as its service would.
func (n *Node) startAgent() error {
	own, err := agent.IdentityDir(n.agentDir()).Load()
	if err != nil {
		return err
	}
	place, err := agent.LoadPlace(n.agentDir())
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.agent.running() {
		return fmt.Errorf("the agent of %s runs already", n.Name)
	}
	watched, err := n.c.net.listen(fmt.Sprintf("%s:%d", n.Name, AgentMetricsPort))
	if err != nil {
		return err
	}
	source := identity.NewSource(own)
	dial := agent.DialWith(source, n.dial, n.wall.now)
	renewal := agent.Renewal{
		State: n.agentDir(), Source: source, Coordinators: place.Coordinators, Dial: dial, Clock: n.wall.now, Log: n.c.Log.With("node", n.Name),
	}
	config := agent.Config{
		Log: n.c.Log.With("node", n.Name), Node: n.Name, Version: n.c.Version, Root: n.Root, State: n.agentDir(),
		Machine: host.Machine{HostName: n.Name, MachineID: fmt.Sprintf("machine-%s-%d", n.Name, n.machines), BootID: fmt.Sprintf("boot-%d", n.boots), Kernel: "simulated"},
		Run:     n.run, Follow: n.DRBD.Follow, Find: n.find,
		Addresses: agent.FixedAddresses(n.addresses()), Dial: dial, Tasks: []func(context.Context) error{renewal.Run},
		Metrics: watched, Health: n.health(), Expiry: source.Expiry,
		Coordinators: place.Coordinators,
		Fence: func(handle func(context.Context, string) int) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.handle = handle
		},
	}
	if n.c.Hook != nil {
		config.Hook = func(point string) error { return n.c.Hook(n.Name, point) }
	}
	n.agent = start(func(ctx context.Context) error {
		defer func() { _ = watched.Close() }() // closing a port in memory cannot fail
		return agent.Run(ctx, config)
	})
	return nil
}
