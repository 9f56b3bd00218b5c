package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab/remote"
	"rvol/cmd/internal/lab/uml/nodeagent"
)

// daemon is the background process of a lab; up starts it.
func (c *command) daemon() *cobra.Command {
	return &cobra.Command{
		Use:    "daemon",
		Short:  "Own the nodes of a lab and serve its commands",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
			return remote.Background(cmd.Context(), os.Stdin, worlds(c.self), log)
		},
	}
}

// nodeAgent runs inside a node; its unit starts it.
func nodeAgent() *cobra.Command {
	return &cobra.Command{
		Use:    "node-agent TERMINAL",
		Short:  "Run commands for the lab inside a node",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			return nodeagent.Run(cmd.Context(), args[0], log)
		},
	}
}
