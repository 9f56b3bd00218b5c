package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) dashboardCommand() *cobra.Command {
	var open bool
	c := &cobra.Command{
		Use: "dashboard", Short: "Print a link that lets a browser look at the cluster, once, in your name", Args: args(),
		Long: `Print a link that lets a browser look at the cluster, in your name.

The link is good once and for two minutes. The session that it begins only looks, whatever your role is, and ends
after eight hours, with your certificate, or when that is revoked. It belongs to the coordinator that is asked: name
another with --endpoint. Until told otherwise, coordinators serve the dashboard on their own machine only: reach it by
ssh -L 7174:localhost:7174 MACHINE, or set RVOL_COORDINATOR_DASHBOARD there.`,
		Example:           "  rvol dashboard --open",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			link, err := adminv1.NewDashboardClient(a.client).Link(ctx, &adminv1.DashboardLinkRequest{})
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(link))
			}
			if open {
				a.aboutDoor(link)
				return a.openLink(ctx, link.GetUrl())
			}
			a.note("It is shown only now, can be used once, and is valid for %s.", short(link.GetExpiresAt().AsTime().Sub(a.env.Now())))
			a.aboutDoor(link)
			_, err = fmt.Fprintln(a.env.Stdout, link.GetUrl())
			return err
		}),
	}
	c.Flags().BoolVar(&open, "open", false, "open it in a browser on this machine instead of printing it")
	return c
}

// aboutDoor says what a person should know of where a link leads.
func (a *app) aboutDoor(l *adminv1.DashboardLink) {
	if u, err := url.Parse(l.GetUrl()); err == nil && l.GetLocal() {
		a.note("Coordinator %s shows it on its own machine only. Elsewhere: ssh -L %s:localhost:%s THAT-MACHINE", l.GetCoordinator(), u.Port(), u.Port())
	}
	a.note("SHA-256 of the certificate that the browser is shown: %s", inPairs(l.GetFingerprint()))
}

// inPairs writes a fingerprint as browsers do.
func inPairs(hex string) string {
	var out []string
	for ; len(hex) >= 2; hex = hex[2:] {
		out = append(out, strings.ToUpper(hex[:2]))
	}
	return strings.Join(out, ":")
}

func (a *app) openLink(ctx context.Context, link string) error {
	if a.env.Open == nil {
		return failed("no browser can be opened from here: leave --open out")
	}
	if err := a.env.Open(ctx, link); err != nil {
		f := failed("open a browser: %s", err)
		f.next = "Leave --open out, and open the link yourself."
		return f
	}
	return nil
}
