package sim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"rvol/agent"
	"rvol/coordinator"
	"rvol/coordinator/consensus"
	"rvol/coordinator/decide/leftover"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// Config says what a simulated cluster shall have.
type Config struct {
	Dir          string // state of all nodes
	Nodes        int
	Coordinators int          // on the first so many nodes; 0: 3, or 1 with fewer nodes
	DRBD         drbd.Version // zero: 8.4, as stock kernels have it
	GroupSize    int64        // bytes of vg0, of vg1 with thin pool tp; 0: 1 GiB
	Version      string
	Log          *slog.Logger
	Heartbeat    time.Duration   // of agents; 0: the coordinator's default
	Leftovers    leftover.Limits // zero: the coordinator's defaults

	// Dashboard is where the coordinator of a node lets browsers in, on the real network; nil: nowhere.
	Dashboard func(node string) (net.Listener, error)

	// Hook is called by the agent of a node after each of its steps; an error crashes it there.
	Hook func(node, point string) error
	// Tool runs a tool for the agent of a node; nil: it just runs.
	Tool func(ctx context.Context, node string, argv []string, run func() ([]byte, error)) ([]byte, error)
	// Free is the room under a coordinator's log; nil: that of the file system of Dir.
	Free func(node string) (consensus.Space, error)
}

// The ports of a node.
const (
	APIPort                = 7170
	raftPort               = 7171
	CoordinatorMetricsPort = 7172
	AgentMetricsPort       = 7173
	agentHealthPort        = agent.HealthPort
)

// Cluster is simulated nodes with their coordinators and agents.
type Cluster struct {
	Config
	fabric *drbdtest.Fabric
	net    *network

	nodes []*Node // n1, n2, ...
}

// New makes the nodes; nothing runs yet.
func New(c Config) (*Cluster, error) {
	if c.Coordinators == 0 {
		c.Coordinators = Coordinators(c.Nodes)
	}
	if c.DRBD == (drbd.Version{}) {
		c.DRBD = drbdtest.V84
	}
	if c.GroupSize == 0 {
		c.GroupSize = 1 << 30
	}
	cl := &Cluster{Config: c, fabric: drbdtest.NewFabric(), net: newNetwork()}
	cl.fabric.LoseEnds()
	for i := range c.Nodes {
		n, err := cl.newNode(i)
		if err != nil {
			return nil, err
		}
		cl.nodes = append(cl.nodes, n)
	}
	return cl, nil
}

// Node returns the named node, or an error that lists those there are.
func (c *Cluster) Node(name string) (*Node, error) {
	for _, n := range c.nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q: there are n1 to n%d", name, len(c.nodes))
}

// Nodes returns all nodes.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Endpoints are the API addresses of the coordinators.
func (c *Cluster) Endpoints() []string {
	var out []string
	for _, n := range c.nodes[:c.Coordinators] {
		out = append(out, n.api())
	}
	return out
}

// AdminConfig is the path of a client configuration with the role admin.
func (c *Cluster) AdminConfig() string { return adminConfig(c.Dir) }

func adminConfig(dir string) string { return filepath.Join(dir, "admin.yaml") }

// Coordinators is how many of so many nodes run one, unless told otherwise.
func Coordinators(nodes int) int {
	if nodes < 3 {
		return 1
	}
	return 3
}

// Start makes the cluster: the first coordinator, the others, an agent on each node. It
// returns when every node is Ready.
func (c *Cluster) Start(ctx context.Context) error {
	first := c.nodes[0]
	err := coordinator.Init(coordinator.InitConfig{
		Dir: first.coordinatorDir(), Cluster: "lab", Name: first.Name, API: first.api(), Raft: first.raft(),
		AdminConfig: c.AdminConfig(), Version: c.Version,
	})
	if err != nil {
		return err
	}
	if err := first.startCoordinator(); err != nil {
		return err
	}
	for _, n := range c.nodes[1:c.Coordinators] {
		if err := c.joinCoordinator(ctx, n); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := c.joinAgent(ctx, n); err != nil {
			return err
		}
	}
	return c.settled(ctx)
}

// settled waits until every node is Ready and every coordinator votes.
func (c *Cluster) settled(ctx context.Context) error {
	conn, err := c.Dial(ctx, c.Endpoints()[0])
	if err != nil {
		return err
	}
	defer closeConn(conn)
	for {
		why := c.unsettled(ctx, conn)
		if why == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the cluster: %s", why)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// unsettled says what is still waited for; empty: nothing.
func (c *Cluster) unsettled(ctx context.Context, conn grpc.ClientConnInterface) string {
	st, err := adminv1.NewClusterClient(conn).Status(ctx, &adminv1.ClusterStatusRequest{})
	if err != nil {
		return err.Error()
	}
	for _, m := range st.GetMembers() {
		if !m.GetVoter() {
			return "coordinator " + m.GetName() + " does not vote yet"
		}
	}
	nodes, err := adminv1.NewNodesClient(conn).List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err.Error()
	}
	for _, n := range nodes.GetNodes() {
		if !n.GetReady() || len(n.GetVgs()) == 0 {
			return "node " + n.GetMeta().GetName() + " has not reported yet"
		}
	}
	return ""
}

func (c *Cluster) joinCoordinator(ctx context.Context, n *Node) error {
	token, err := c.token(ctx, "coordinator", n.Name)
	if err != nil {
		return err
	}
	err = coordinator.Join(ctx, coordinator.JoinConfig{
		Dir: n.coordinatorDir(), Token: token, Coordinators: c.Endpoints()[:1], Name: n.Name,
		API: n.api(), Raft: n.raft(), Dial: n.dial, Version: c.Version,
	})
	if err != nil {
		return fmt.Errorf("join coordinator %s: %w", n.Name, err)
	}
	return n.startCoordinator()
}

// Cut loses everything between two nodes; with oneWay only what a sends to b.
func (c *Cluster) Cut(a, b string, oneWay bool) {
	c.CutControl(a, b, oneWay)
	c.CutReplication(a, b, oneWay)
}

// CutControl loses what coordinators and agents of two nodes say to each other.
func (c *Cluster) CutControl(a, b string, oneWay bool) {
	c.net.disturb(a, b)
	if !oneWay {
		c.net.disturb(b, a)
	}
}

// CutReplication loses what DRBD sends between two nodes.
func (c *Cluster) CutReplication(a, b string, oneWay bool) {
	if oneWay {
		c.fabric.CutOneWay(a, b)
		return
	}
	c.fabric.Cut(a, b)
}

// Reset breaks every connection between coordinators and agents of two nodes, with what
// was under way in it.
func (c *Cluster) Reset(a, b string) { c.net.reset(a, b) }

// Isolate cuts a node from all others.
func (c *Cluster) Isolate(name string) {
	for _, n := range c.nodes {
		if n.Name != name {
			c.Cut(name, n.Name, false)
		}
	}
}

// HealLink repairs the link between two nodes.
func (c *Cluster) HealLink(a, b string) {
	c.net.mend(a, b)
	c.net.mend(b, a)
	c.fabric.HealLink(a, b)
}

// Heal repairs every link.
func (c *Cluster) Heal() {
	c.net.heal()
	c.fabric.Heal()
}

// Close ends everything.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.nodes {
		n.stopAgent()
		errs = append(errs, n.stopCoordinator())
	}
	for _, n := range c.nodes {
		c.net.silence(n.Name) // what a process that ends takes with it
	}
	c.net.silence("")
	c.fabric.Close()
	return errors.Join(errs...)
}

// Dial connects to a coordinator's API as the owner of a client configuration would,
// from outside the nodes' network.
func (c *Cluster) Dial(_ context.Context, endpoint string) (grpc.ClientConnInterface, error) {
	config, err := clientconfig.Load(c.AdminConfig())
	if err != nil {
		return nil, err
	}
	own, err := config.Credentials()
	if err != nil {
		return nil, err
	}
	return c.connect("", endpoint, identity.ClientTLS(identity.NewSource(own), identity.Peers{Allow: identity.AllowRoles(identity.Server)}))
}

// DialRaw connects to a port of a node from outside, without TLS.
func (c *Cluster) DialRaw(ctx context.Context, node string, port int) (net.Conn, error) {
	return c.net.dial(ctx, "", fmt.Sprintf("%s:%d", node, port))
}

func (c *Cluster) connect(from, addr string, config *tls.Config) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithContextDialer(func(ctx context.Context, a string) (net.Conn, error) { return c.net.dial(ctx, from, a) }))
}

// tempRoot is a folder for the state of a cluster, in memory where the machine has such a place.
func tempRoot() (string, error) {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "rvol-sim-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "rvol-sim-")
}
