package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab/blocks"
)

// blocksCommand runs inside a node: tests of the lab see by it that nothing is lost.
func blocksCommand() *cobra.Command {
	var number int64
	cmd := &cobra.Command{
		Use:    "blocks write|check DEVICE",
		Short:  "Write numbered blocks and tell which are stable, or find out which of those are lost",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := blocks.Open(args[1])
			if err != nil {
				return err
			}
			switch args[0] {
			case "write":
				err = blocks.Write(cmd.Context(), f, number, os.Stdout)
			case "check":
				err = blocks.Check(f, number)
			default:
				err = fmt.Errorf("want write or check, not %q", args[0])
			}
			return errors.Join(err, f.Close())
		},
	}
	cmd.Flags().Int64Var(&number, "number", 0, "of the first block to write, or of the last that must be there")
	return cmd
}
