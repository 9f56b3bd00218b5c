package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) quotaCommand() *cobra.Command {
	n := a.quotas()
	return a.group("quota", "Limits of what volumes with certain labels may grow to", n.listCommand(), n.showCommand(), a.quotaCreate(), a.quotaSet(),
		a.deleteCommand("quota", "Take a limit away", func(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
			return adminv1.NewQuotasClient(a.client).Delete(ctx, r)
		}))
}

func (a *app) quotas() noun[*adminv1.Quota] {
	type quota = *adminv1.Quota
	return noun[quota]{
		app: a, kind: "quota", reads: []string{"quota", "volume"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]quota, error) {
			r, err := adminv1.NewQuotasClient(a.client).List(ctx, q)
			return r.GetQuotas(), err
		},
		columns: []column[quota]{
			{head: "NAME", cell: func(q quota) string { return q.GetMeta().GetName() }},
			{head: "OF VOLUMES WITH", cell: func(q quota) string { return orAny(q.GetSelector()) }},
			{head: "SIZE", cell: func(q quota) string { return humanSize(q.GetUsedBytes()) }},
			{head: "SIZE LIMIT", cell: func(q quota) string {
				if q.Bytes == nil {
					return "none"
				}
				return humanSize(q.GetBytes())
			}},
			{head: "VOLUMES", cell: func(q quota) string { return number(q.GetUsedVolumes()) }},
			{head: "VOLUME LIMIT", cell: func(q quota) string {
				if q.Volumes == nil {
					return "none"
				}
				return number(q.GetVolumes())
			}},
			{head: "AGE", cell: func(q quota) string { return a.age(q.GetMeta().GetCreatedAt()) }},
		},
	}
}

func orAny(text string) string {
	if text == "" {
		return "any labels"
	}
	return text
}

// quotaFlags are what a quota counts and allows.
type quotaFlags struct{ selector, bytes, volumes string }

func (q *quotaFlags) on(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&q.selector, "selector", "", "of volumes with these labels, as in team=a (default: of all)")
	f.StringVar(&q.bytes, "bytes", "", "usable size of all of them, copies not counted: `SIZE` or none; "+sizeHelp)
	f.StringVar(&q.volumes, "volumes", "", "how many there may be: `N` or none")
	complete(c, "bytes", cobra.NoFileCompletions)
	complete(c, "volumes", cobra.NoFileCompletions)
}

const none = "none"

// limits reads the two limits; nil: not given, negative: none.
func (q *quotaFlags) limits() (bytes *int64, volumes *int32, err error) {
	if q.bytes != "" {
		n := int64(-1)
		if q.bytes != none {
			if n, err = parseSize(q.bytes); err != nil {
				return nil, nil, usage("--bytes: %s, or %s", err, none)
			}
		}
		bytes = &n
	}
	if q.volumes != "" {
		n := int64(-1)
		if q.volumes != none {
			if n, err = strconv.ParseInt(q.volumes, 10, 64); err != nil || n < 0 || n > math.MaxInt32 {
				return nil, nil, usage("--volumes %q: want a whole number, or %s", q.volumes, none)
			}
		}
		count := int32(n)
		volumes = &count
	}
	return bytes, volumes, nil
}

func (a *app) quotaCreate() *cobra.Command {
	var q quotaFlags
	var labels []string
	c := &cobra.Command{
		Use: "create NAME", Short: "Limit what volumes with certain labels may grow to", Args: args("NAME"),
		Long: `Limit how many volumes with certain labels there may be, or what their usable sizes may come to. What would grow past it is
refused: a new volume, a resize, a label. What is there already stays, whatever the limit.`,
		Example:           "  rvol quota create team-a --selector team=a --bytes 2TiB --volumes 50",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			set, err := parsePairs("label", labels)
			if err != nil {
				return err
			}
			r := &adminv1.Quota{Meta: &adminv1.Meta{Name: args[0], Labels: set}, Selector: q.selector}
			if r.Bytes, r.Volumes, err = q.limits(); err != nil {
				return err
			}
			if r.GetBytes() < 0 {
				r.Bytes = nil
			}
			if r.GetVolumes() < 0 {
				r.Volumes = nil
			}
			if r.Bytes == nil && r.Volumes == nil {
				return usage("quota %s: say what it limits, with --bytes, --volumes or both", args[0])
			}
			made, err := adminv1.NewQuotasClient(a.client).Create(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("quota", args[0], made, "created; %s", quotaUse(made))
		}),
	}
	q.on(c)
	pairFlag(c, &labels, "label", "a label of the quota itself")
	return c
}

func (a *app) quotaSet() *cobra.Command {
	var q quotaFlags
	var labels labelFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a limit, or which volumes it counts", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("quota"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			err := someFlag(c)
			if err != nil {
				return err
			}
			r := &adminv1.SetQuotaRequest{Name: args[0], Selector: given(c, "selector", q.selector)}
			if r.Bytes, r.Volumes, err = q.limits(); err != nil {
				return err
			}
			if r.Labels, err = labels.change(); err != nil {
				return err
			}
			now, err := adminv1.NewQuotasClient(a.client).Set(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("quota", args[0], now, "changed; %s", quotaUse(now))
		}),
	}
	q.on(c)
	labels.on(c)
	return c
}

// quotaUse says what is used, and that it is too much.
func quotaUse(q *adminv1.Quota) string {
	text := fmt.Sprintf("used: %s in %d volumes", humanSize(q.GetUsedBytes()), q.GetUsedVolumes())
	if q.Bytes != nil && q.GetUsedBytes() > q.GetBytes() || q.Volumes != nil && q.GetUsedVolumes() > q.GetVolumes() {
		text += ", which is more than it allows: they stay, and may not grow"
	}
	return text
}
