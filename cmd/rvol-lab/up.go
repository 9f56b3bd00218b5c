package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/kernel"
	"rvol/cmd/internal/lab/remote"
	"rvol/cmd/internal/lab/sim"
	"rvol/proto/clientconfig"
)

func (c *command) up() *cobra.Command {
	plan := remote.Plan{}
	var disk, memory string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a lab in the background and wait until its nodes are ready",
		Long: `Start a lab in the background and wait until its nodes are ready.

The kernel world fetches a kernel and makes an image at the first run and keeps both in a cache. It takes other ones from
RVOL_LAB_KERNEL (a User Mode Linux kernel), RVOL_LAB_MODULES (a /lib/modules laid over Debian's) and RVOL_LAB_OVERLAY (a folder
laid over the image). RVOL_LAB_MIRROR names a Debian mirror, MMDEBSTRAP_MODE a mode of mmdebstrap.

The payload is laid at /opt/rvol of each node: what is in its bin/ is in PATH, in its etc/ in /etc, and the units in its systemd/ are
enabled.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if plan.Config.DiskSize, err = parseSize(disk); err != nil {
				return fmt.Errorf("read --disk-size: %w", err)
			}
			if plan.Config.Memory, err = parseSize(memory); err != nil {
				return fmt.Errorf("read --memory: %w", err)
			}
			return c.runUp(cmd, plan)
		},
	}
	f := cmd.Flags()
	f.StringVar(&plan.World, "world", "kernel", "kind of nodes: kernel (real kernels), sim (simulated, with rvol running on them) or vagrant (the Vagrantfile's machines)")
	f.IntVar(&plan.Config.Nodes, "nodes", 3, "number of nodes")
	f.IntVar(&plan.Config.Networks, "networks", 1, "number of networks: 1 or 2")
	f.IntVar(&plan.Config.Disks, "disks", 1, "data disks of each node")
	f.StringVar(&disk, "disk-size", "512M", "size of each data disk")
	f.StringVar(&memory, "memory", "256M", "memory of each node")
	f.StringVar(&plan.Config.Payload, "payload", "", "folder laid at /opt/rvol of each node")
	f.BoolVar(&plan.Config.Keep, "keep", false, "use the disks of the last lab of this name, and leave them when it goes down")
	return cmd
}

func (c *command) runUp(cmd *cobra.Command, p remote.Plan) error {
	p.Config.Name, p.Config.Dir = c.name, c.dir()
	makeWorld, ok := worlds(c.self)[p.World]
	if !ok {
		return fmt.Errorf("start a lab: there is no world %q", p.World)
	}
	if _, err := makeWorld(p.Config); err != nil { // what cannot be is said here, not by the background process
		return err
	}
	if p.Config.Payload != "" {
		folder, err := filepath.Abs(p.Config.Payload)
		if err != nil {
			return err
		}
		if _, err := os.Stat(folder); err != nil {
			return fmt.Errorf("read the payload: %w", err)
		}
		p.Config.Payload = folder
	}
	client, err := remote.Spawn(cmd.Context(), p, c.self, "daemon", "--name", c.name)
	if err != nil {
		return err
	}
	if err := client.Up(cmd.Context(), os.Stderr); err != nil {
		return fmt.Errorf("%w\nlogs: %s", err, c.dir())
	}
	if p.World == simWorld {
		return c.pointTheWay(cmd.Context(), client, p.Config.Nodes)
	}
	return nil
}

// pointTheWay forwards the coordinators' ports of a simulated cluster to this machine and
// writes the client configuration that goes with them.
func (c *command) pointTheWay(ctx context.Context, client *remote.Client, nodes int) error {
	config, err := clientconfig.Load(sim.AdminConfigIn(c.dir()))
	if err != nil {
		return err
	}
	config.Endpoints = nil
	for i := range sim.Coordinators(nodes) {
		f, err := client.Forward(ctx, lab.NodeName(i+1), sim.APIPort)
		if err != nil {
			return fmt.Errorf("reach the coordinator on %s: %w", lab.NodeName(i+1), err)
		}
		config.Endpoints = append(config.Endpoints, f.Listen)
	}
	path := filepath.Join(c.dir(), "admin.yaml")
	if err := config.Save(path); err != nil {
		return err
	}
	fmt.Printf("export %s=%s\n", clientconfig.PathVariable, path)
	return nil
}

func (c *command) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the lab: nodes, network, background process, and its disks unless it was started with --keep",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.client().Down(cmd.Context()) },
	}
}

func (c *command) fetch() *cobra.Command {
	return &cobra.Command{
		Use:   "fetch",
		Short: "Download and make what nodes boot from, and end",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return kernel.Fetch(cmd.Context(), os.Stderr) },
	}
}

// parseSize reads a number of bytes with an optional suffix K, M, G or T (powers of 1024), with or without iB.
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGTiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("size %q: want a number with K, M, G or T", s)
	}
	shift, ok := map[string]uint{"": 0, "B": 0, "K": 10, "M": 20, "G": 30, "T": 40}[strings.TrimSuffix(s[len(digits):], "iB")]
	switch {
	case !ok:
		return 0, fmt.Errorf("size %q: want a number with K, M, G or T", s)
	case n <= 0:
		return 0, errors.New("a size must be more than 0")
	case n > (1<<62)>>shift:
		return 0, fmt.Errorf("size %q: too large", s)
	}
	return n << shift, nil
}
