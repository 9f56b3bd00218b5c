package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
)

// app is one run of the command.
type app struct {
	env   Env
	flags globals

	client *client
}

// globals are the flags of every command.
type globals struct {
	output    string
	endpoints []string
	config    string
	timeout   time.Duration
	stale     bool
	requestID string
	quiet     bool
}

func newApp(env Env) *app {
	a := &app{env: env.withDefaults()}
	a.client = &client{app: a, requestID: rand.Text(), conns: map[string]grpc.ClientConnInterface{}}
	return a
}

func (a *app) root() *cobra.Command {
	root := a.group("rvol", "Drive a cluster of highly available block volumes",
		a.volumeCommand(), a.replicaCommand(), a.attachmentCommand(),
		a.nodeCommand(), a.lvgCommand(), a.poolCommand(), a.classCommand(), a.quotaCommand(), a.applyCommand(), a.exportCommand(),
		a.statusCommand(), a.topCommand(), a.dashboardCommand(), a.clusterCommand(), a.tokenCommand(), a.certificateCommand(),
		a.orphanCommand(), a.operationCommand(), a.eventCommand(), a.auditCommand(),
		a.planCommand(), a.explainCommand(), a.supportCommand(), a.completionCommand(), a.versionCommand(),
	)
	root.Long = longHelp
	// Groups run only to complain, which is not worth a line in their help.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.env.Stdin)
	root.SetOut(a.env.Stdout)
	root.SetErr(a.env.Stderr)
	root.SetFlagErrorFunc(unknownFlag)

	f, g := root.PersistentFlags(), &a.flags
	f.StringVarP(&g.output, "output", "o", "table", "`FORM` of the answer: table, wide, json, yaml or name")
	f.StringSliceVar(&g.endpoints, "endpoint", nil, "coordinators to ask, as `HOST:PORT`, instead of those in the configuration")
	f.StringVar(&g.config, "config", "", "configuration `FILE` (default $RVOL_CONFIG or ~/.config/rvol/config.yaml)")
	f.DurationVar(&g.timeout, "timeout", 0, "give up after this `TIME` (default 30s for a call, no limit for --watch and for --wait while something moves)")
	f.BoolVar(&g.stale, "stale", false, "take what one coordinator remembers, even if it may be old")
	f.StringVar(&g.requestID, "request-id", "", "`NAME` of this request; to repeat one whose outcome is not known, repeat its name")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "print results only: no progress, no hints")
	complete(root, "output", fixed(formats...))
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return errors.Join(a.flags.check(), missing(c)) }
	return root
}

const longHelp = `rvol drives a cluster of highly available block volumes.

Exit status: 0 done, 1 failed, 2 not understood, 3 not found, 4 conflict,
5 no space or no place, 6 time is over, 7 no coordinator can answer.`

func (g globals) check() error {
	if g.timeout < 0 {
		return usage("--timeout %s: want more than 0", g.timeout)
	}
	if !slices.Contains(formats, g.output) {
		return usage("-o %s: want one of %s", g.output, strings.Join(formats, ", "))
	}
	return nil
}

// limit applies --timeout, when there is one, to all that a command does.
func (a *app) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.flags.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.flags.timeout)
}

// group makes a command that only holds others.
func (a *app) group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // a wrong verb is the better complaint
		ValidArgsFunction:  cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(cmd, args[0])
		},
	}
	c.AddCommand(verbs...)
	return c
}

func unknownFlag(cmd *cobra.Command, err error) error {
	f := usage("%s", err)
	var known []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if near := nearest(name, known); near != "" {
			f.next = fmt.Sprintf("Did you mean --%s? See `%s --help`.", near, cmd.CommandPath())
		}
	}
	return f
}

func unknownVerb(cmd *cobra.Command, word string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			known = append(known, c.Name())
		}
	}
	err := usage("%s: unknown command", strings.TrimSpace(verb(cmd)+" "+word))
	if near := nearest(word, known); near != "" {
		err.next = fmt.Sprintf("Did you mean `%s %s`?", cmd.CommandPath(), near)
	} else {
		err.next = fmt.Sprintf("There are: %s.", strings.Join(known, ", "))
	}
	return err
}

// verb is the path of a command without the program's name.
func verb(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "rvol"), " ")
}

// args checks that the positional arguments are those that a command's usage line names; one in brackets may be missing.
func args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if len(given) < len(names) && !strings.HasPrefix(names[len(given)], "[") {
			return usage("%s is missing", names[len(given)])
		}
		if len(given) > len(names) {
			return usage("%q is one argument too many", given[len(names)])
		}
		return nil
	}
}

// note prints a remark for people, which is not part of the answer.
func (a *app) note(format string, args ...any) {
	if !a.flags.quiet {
		a.tell(format+"\n", args...)
	}
}

// tell writes to Stderr. When that fails there is nobody left to tell.
func (a *app) tell(format string, args ...any) { _, _ = fmt.Fprintf(a.env.Stderr, format, args...) }

// run makes the RunE of a command that asks the cluster.
func (a *app) run(do func(ctx context.Context, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := a.limit(cmd.Context())
		defer cancel()
		err := do(ctx, cmd, args)
		if err != nil && ctx.Err() != nil && cmd.Context().Err() == nil && !errors.As(err, new(*failure)) {
			return &failure{code: exitTimeout, what: fmt.Sprintf("no answer within %s: %s", a.flags.timeout, plain(err))}
		}
		return err
	}
}
