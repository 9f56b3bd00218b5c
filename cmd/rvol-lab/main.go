package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/kernel"
	"rvol/cmd/internal/lab/remote"
	"rvol/cmd/internal/lab/sim"
	"rvol/cmd/internal/lab/vagrant"
)

// The worlds other than that of kernels: one without any, and one of virtual machines.
const (
	simWorld     = "sim"
	vagrantWorld = "vagrant"
)

// worlds are the kinds of world that --world can name.
func worlds(self string) lab.Worlds {
	return lab.Worlds{
		"kernel":     func(c lab.Config) (lab.World, error) { return kernel.New(c, self) },
		vagrantWorld: func(c lab.Config) (lab.World, error) { return vagrant.New(c, self) },
		simWorld:     func(c lab.Config) (lab.World, error) { return sim.NewWorld(c) },
	}
}

const defaultName = "lab"

// exitError ends the program with a node's exit code and no words.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// command is what all verbs share.
type command struct {
	self string // this program
	name string // of the lab
}

func (c *command) dir() string            { return lab.RunDir(c.name) }
func (c *command) client() *remote.Client { return remote.Connect(c.dir()) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx)
	stop()
	var code exitError
	switch {
	case err == nil:
	case errors.As(err, &code):
		os.Exit(int(code))
	default:
		fmt.Fprintln(os.Stderr, "rvol-lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	c := &command{self: self}
	root := &cobra.Command{
		Use:           "rvol-lab",
		Short:         "A whole cluster on a laptop: real kernels or simulated nodes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&c.name, "name", defaultName, "name of the lab; several may run side by side")
	root.AddCommand(c.demo(), c.up(), c.down(), c.status(), c.fetch(), c.daemon(), c.form(), nodeAgent(), blocksCommand())
	root.AddCommand(c.exec(), c.kill(), c.start(), c.stop(), c.logs(), c.push(), c.forward())
	root.AddCommand(c.cut(), c.isolate(), c.delay(), c.drop(), c.heal())
	return root.ExecuteContext(ctx)
}
