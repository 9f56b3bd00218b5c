package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"rvol/cmd/internal/lab"
)

func (c *command) exec() *cobra.Command {
	return &cobra.Command{
		Use:     "exec NODE -- COMMAND [ARGUMENT...]",
		Short:   "Run a command on a node: its input, output, errors and exit code are those of this command",
		Example: "  rvol-lab exec n1 -- sh -c 'drbdadm status; lvs'",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			x := lab.Command{Argv: args[1:], Stdout: os.Stdout, Stderr: os.Stderr}
			// a command on a terminal rarely wants its input, and would keep it from the shell
			if !term.IsTerminal(int(os.Stdin.Fd())) {
				x.Stdin = os.Stdin
			}
			code, err := c.client().Exec(cmd.Context(), args[0], x)
			if err == nil && code != 0 {
				err = exitError(code)
			}
			return err
		},
	}
}

// onNode is a verb whose only argument is a node.
func onNode(verb, short string, do func(cmd *cobra.Command, node string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NODE",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return do(cmd, args[0]) },
	}
}

func (c *command) kill() *cobra.Command {
	return onNode("kill", "Take a node's power: what it did not flush to disk is lost", func(cmd *cobra.Command, node string) error {
		return c.client().Kill(cmd.Context(), node)
	})
}

func (c *command) start() *cobra.Command {
	return onNode("start", "Boot a node that is off, on the disks it had", func(cmd *cobra.Command, node string) error {
		return c.client().Start(cmd.Context(), node)
	})
}

func (c *command) stop() *cobra.Command {
	return onNode("stop", "Shut a node down cleanly", func(cmd *cobra.Command, node string) error {
		return c.client().Stop(cmd.Context(), node)
	})
}

func (c *command) logs() *cobra.Command {
	return onNode("logs", "Show a node's console and the journal of its rvol units", func(cmd *cobra.Command, node string) error {
		return c.client().Logs(cmd.Context(), node, os.Stdout)
	})
}

func (c *command) push() *cobra.Command {
	return &cobra.Command{
		Use:   "push NODE SOURCE DESTINATION",
		Short: "Copy a file or folder to a path on a node",
		Args:  cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.client().Push(cmd.Context(), args[0], args[1], args[2])
		},
	}
}

func (c *command) forward() *cobra.Command {
	return &cobra.Command{
		Use:   "forward NODE PORT",
		Short: "Open a port of 127.0.0.1 that leads to a node's port, for as long as the lab runs, and print it",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("forward to port %q: not a number", args[1])
			}
			f, err := c.client().Forward(cmd.Context(), args[0], port)
			if err == nil {
				fmt.Println(f.Listen)
			}
			return err
		},
	}
}
