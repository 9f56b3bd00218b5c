package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab"
)

func (c *command) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes, what they run, the network's faults and the forwarded ports",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.client().Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(os.Stdout)
				e.SetIndent("", "  ")
				return e.Encode(s)
			}
			return printStatus(os.Stdout, s)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printStatus(w io.Writer, s lab.Status) error {
	fmt.Fprintf(w, "lab %s, world %s, in %s\n\n", s.Name, s.World, s.Dir) // Flush says it
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tSTATE\tPID\tADDRESS\tKERNEL\tDRBD\tBOOTED IN\tDETAIL")
	for _, n := range s.Nodes {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%.1f s\t%s\n",
			n.Name, n.State, n.PID, n.Address, cmp.Or(n.Kernel, "-"), cmp.Or(n.DRBD, "-"), n.Booted.Seconds(), n.Detail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range s.Links {
		fmt.Fprintln(w, "fault:", l) // the terminal is gone
	}
	for _, f := range s.Forwards {
		fmt.Fprintf(w, "forward: %s -> %s port %d\n", f.Listen, f.Node, f.Port) // the terminal is gone
	}
	return nil
}
