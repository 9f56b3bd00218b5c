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
)

// The machines of the demo.
const (
	demoNodes    = 3
	demoDiskSize = 1 << 30
)

func (c *command) demo() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show rvol's main job: a volume is made, outlives the machine that used it, and goes without a trace",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runDemo(cmd.Context(), keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the cluster running at the end")
	return cmd
}

func (c *command) runDemo(ctx context.Context, keep bool) error {
	n := demo.NewNarrator(os.Stdout, term.IsTerminal(int(os.Stdout.Fd())))
	client, err := c.demoWorld(ctx, n)
	if err != nil {
		return err
	}
	cluster := deploy.New(client, demoNodes, deploy.Client{
		Program: filepath.Join(filepath.Dir(c.self), "rvol"), Config: filepath.Join(c.dir(), "admin.yaml"),
	}, n)
	err = demo.New(cluster, n, os.Stdout, os.Stderr).Tell(ctx)
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

// demoWorld boots the machines.
func (c *command) demoWorld(ctx context.Context, n *demo.Narrator) (*remote.Client, error) {
	cache, err := lab.CacheDir()
	if err != nil {
		return nil, err
	}
	payload := filepath.Join(cache, "payload", c.name)
	if err := deploy.Payload(payload, filepath.Dir(c.self)); err != nil {
		return nil, err
	}
	p := remote.Plan{World: "kernel", Config: lab.Config{
		Name: c.name, Dir: c.dir(), Nodes: demoNodes, Disks: deploy.Disks, DiskSize: demoDiskSize, Payload: payload,
	}}
	client, err := remote.Spawn(ctx, p, c.self, "daemon", "--name", c.name)
	if err != nil {
		return nil, err
	}
	return client, n.Timed(fmt.Sprintf("%d machines booted", demoNodes), func() error { return client.Up(ctx, n.Progress()) })
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
