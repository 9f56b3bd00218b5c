package cli

import "github.com/spf13/cobra"

func (a *app) planCommand() *cobra.Command {
	return a.group("plan", "Try decisions without a cluster")
}
