package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab"
)

// link is a verb that changes what links do.
func (c *command) link(use, short string, args int, fault func(args []string) (lab.Fault, error)) *cobra.Command {
	var oneWay bool
	var network int
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(args),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := fault(args)
			if err != nil {
				return err
			}
			f.OneWay, f.Network = oneWay, network
			return c.client().Disturb(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&oneWay, "one-way", false, "only what the first node sends to the second")
	cmd.Flags().IntVar(&network, "network", 0, "only on this network, 1 or 2; 0: on all")
	return cmd
}

func (c *command) cut() *cobra.Command {
	return c.link("cut A B", "Cut the link between two nodes", 2, func(a []string) (lab.Fault, error) {
		return lab.Fault{A: a[0], B: a[1], Cut: true}, nil
	})
}

func (c *command) isolate() *cobra.Command {
	return c.link("isolate NODE", "Cut a node off from all others", 1, func(a []string) (lab.Fault, error) {
		return lab.Fault{A: a[0], Cut: true}, nil
	})
}

func (c *command) delay() *cobra.Command {
	return c.link("delay A B MILLISECONDS", "Make the link between two nodes slow", 3, func(a []string) (lab.Fault, error) {
		n, err := strconv.Atoi(a[2])
		if err != nil || n < 0 {
			return lab.Fault{}, fmt.Errorf("delay by %q: not a number of milliseconds", a[2])
		}
		return lab.Fault{A: a[0], B: a[1], Delay: time.Duration(n) * time.Millisecond}, nil
	})
}

func (c *command) drop() *cobra.Command {
	return c.link("drop A B PERCENT", "Make the link between two nodes lose frames", 3, func(a []string) (lab.Fault, error) {
		n, err := strconv.Atoi(a[2])
		if err != nil || n < 0 || n > 100 {
			return lab.Fault{}, fmt.Errorf("drop %q: not a percentage", a[2])
		}
		return lab.Fault{A: a[0], B: a[1], Drop: n}, nil
	})
}

func (c *command) heal() *cobra.Command {
	return &cobra.Command{
		Use:   "heal",
		Short: "End every fault of the network",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.client().Heal(cmd.Context()) },
	}
}
