package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// quickly is how long the server may take to help with names while somebody types.
const quickly = 2 * time.Second

// complete gives a flag its completion. It cannot fail: the flag was defined the line before.
func complete(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// lists maps each kind to a function that lists the names there are.
func (a *app) lists() map[string]func(context.Context) ([]string, error) {
	return map[string]func(context.Context) ([]string, error){
		"node": a.nodes().names, "lvg": a.lvgs().names, "pool": a.pools().names, "class": a.classes().names,
		"volume": a.volumes().names, "replica": a.replicas().names, "attachment": a.attachments().names,
		"operation": a.operations().names, "token": a.tokens().names, "member": a.members,
		"hold": a.holds().names, "certificate": a.certificates().names, "quota": a.quotas().names, "orphan": a.orphans().names,
	}
}

// completeNames offers the names of a kind that were not given yet.
func (a *app) completeNames(kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), quickly)
		defer cancel()
		names, err := a.lists()[kind](ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // there is nobody to tell
		}
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) })
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeEach offers names of one kind for each argument in turn; the kind "" stands for a free one.
func (a *app) completeEach(kinds ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(kinds) || kinds[len(args)] == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeNames(kinds[len(args)])(cmd, nil, start)
	}
}

func (a *app) completionCommand() *cobra.Command {
	shell := func(name, how string, write func(*cobra.Command) error) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: "Write the completion for " + name,
			Long: "Write the completion for " + name + ". To use it: " + how,
			Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(c *cobra.Command, _ []string) error { return write(c.Root()) },
		}
	}
	return a.group("completion", "Write completions for a shell",
		shell("bash", "source <(rvol completion bash)",
			func(root *cobra.Command) error { return root.GenBashCompletionV2(a.env.Stdout, true) }),
		shell("zsh", "rvol completion zsh >\"${fpath[1]}/_rvol\"",
			func(root *cobra.Command) error { return root.GenZshCompletion(a.env.Stdout) }),
		shell("fish", "rvol completion fish >~/.config/fish/completions/rvol.fish",
			func(root *cobra.Command) error { return root.GenFishCompletion(a.env.Stdout, true) }),
	)
}
