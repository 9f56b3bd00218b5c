package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/version"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program",
		Args:              args(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := object{{"version", version.String()}, {"go", runtime.Version()}, {"platform", runtime.GOOS + "/" + runtime.GOARCH}}
			if a.flags.structured() {
				return a.write(v)
			}
			_, err := fmt.Fprintf(a.env.Stdout, "rvol %s %s %s\n", v[0].value, v[1].value, v[2].value)
			return err
		},
	}
}
