package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/demo"
	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/remote"
	"rvol/cmd/internal/lab/vagrant"
)

// The machines of the demo.
const (
	demoNodes    = 3
	demoDiskSize = 1 << 30
)

func (c *command) demo() *cobra.Command {
	var keep bool
	var world string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show rvol's main job: a volume is made, outlives the machine that used it, and goes without a trace",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runDemo(cmd.Context(), world, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the cluster running at the end")
	cmd.Flags().StringVar(&world, "world", "", "kind of nodes: kernel, sim or vagrant (default: kernel, or sim where no kernel can run)")
	return cmd
}

func (c *command) runDemo(ctx context.Context, world string, keep bool) error {
	n := demo.NewNarrator(os.Stdout, term.IsTerminal(int(os.Stdout.Fd())))
	world, client, err := c.demoWorld(ctx, n, world)
	if err != nil {
		return err
	}
	cluster := deploy.New(client, demoNodes, deploy.Client{
		Program: filepath.Join(filepath.Dir(c.self), "rvol"), Config: filepath.Join(c.dir(), "admin.yaml"),
	}, n)
	story := demo.New(cluster, n, os.Stdout, os.Stderr)
	switch world {
	case simWorld:
		story = demo.NewSimulated(cluster, n, os.Stdout, os.Stderr)
	case vagrantWorld:
		cluster.Install, cluster.Address = vagrant.Install, vagrant.Address
	}
	err = story.Tell(ctx)
	if err != nil {
		err = c.keepLogs(ctx, cluster, err)
	}
	if keep {
		n.Say("%s", demo.LookAround(c.again(), cluster))
	} else if down := client.Down(context.WithoutCancel(ctx)); down != nil {
		err = errors.Join(err, down)
	}
	if err == nil {
		n.Table("What was done, and how long it took")
	}
	return err
}

// demoWorld starts the machines: those asked for, or those that this machine can carry.
func (c *command) demoWorld(ctx context.Context, n *demo.Narrator, world string) (string, *remote.Client, error) {
	start := map[string]func(context.Context, *demo.Narrator) (*remote.Client, error){
		kernelWorld: c.kernels, simWorld: c.simulation, vagrantWorld: c.virtual,
	}
	if world != "" {
		if start[world] == nil {
			return "", nil, fmt.Errorf("start the demo: there is no world %q", world)
		}
		client, err := start[world](ctx, n)
		return world, client, err
	}
	client, err := c.kernels(ctx, n)
	if err == nil || ctx.Err() != nil || remote.Connect(c.dir()).Runs(ctx) {
		return kernelWorld, client, err
	}
	n.Loud("REAL KERNELS CANNOT RUN HERE:", err.Error(),
		"What follows is the same story on SIMULATED nodes: no kernel, no DRBD, no LVM of this machine takes part.",
		"Blocks with checksums are written and read where the story would make a file system.")
	client, err = c.simulation(ctx, n)
	return simWorld, client, err
}

const kernelWorld = "kernel"

// kernels boots nodes with real kernels.
func (c *command) kernels(ctx context.Context, n *demo.Narrator) (*remote.Client, error) {
	cache, err := lab.CacheDir()
	if err != nil {
		return nil, err
	}
	payload := filepath.Join(cache, "payload", c.name)
	if err := deploy.Payload(payload, filepath.Dir(c.self)); err != nil {
		return nil, err
	}
	return c.machines(ctx, n, remote.Plan{World: kernelWorld, Config: lab.Config{
		Name: c.name, Dir: c.dir(), Nodes: demoNodes, Disks: deploy.Disks, DiskSize: demoDiskSize, Payload: payload,
	}})
}

// virtual takes the machines of the Vagrantfile.
func (c *command) virtual(ctx context.Context, n *demo.Narrator) (*remote.Client, error) {
	p := remote.Plan{World: vagrantWorld, Config: lab.Config{Name: c.name, Dir: c.dir(), Nodes: demoNodes}}
	if _, err := worlds(c.self)[p.World](p.Config); err != nil { // said here, not by the background process
		return nil, err
	}
	return c.machines(ctx, n, p)
}

// simulation starts simulated nodes, which come with rvol.
func (c *command) simulation(ctx context.Context, n *demo.Narrator) (*remote.Client, error) {
	client, err := c.machines(ctx, n, remote.Plan{World: simWorld, Config: lab.Config{
		Name: c.name, Dir: c.dir(), Nodes: demoNodes, DiskSize: demoDiskSize,
	}})
	if err != nil {
		return nil, err
	}
	return client, c.pointTheWay(ctx, client, demoNodes)
}

func (c *command) machines(ctx context.Context, n *demo.Narrator, p remote.Plan) (*remote.Client, error) {
	client, err := remote.Spawn(ctx, p, c.self, "daemon", "--name", c.name)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d machines started, world %s", p.Config.Nodes, p.World)
	return client, n.Timed(what, func() error { return client.Up(ctx, n.Progress()) })
}

// keepLogs writes down what a failed demo leaves, and says where.
func (c *command) keepLogs(ctx context.Context, cluster *deploy.Cluster, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "rvol-demo-logs-")
	if err != nil {
		return errors.Join(why, err)
	}
	for _, node := range cluster.Nodes {
		why = errors.Join(why, toFile(filepath.Join(dir, node+".log"), func(w io.Writer) error { return cluster.Logs(ctx, node, w) }))
	}
	return fmt.Errorf("%w\nlogs: %s", why, dir)
}

func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// again is how this lab is named in a further command.
func (c *command) again() string {
	if c.name == defaultName {
		return c.self
	}
	return c.self + " --name " + c.name
}
