package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) auditCommand() *cobra.Command {
	return a.group("audit", "The trail of every change, chained by hash, that each coordinator keeps", a.auditList(), a.auditExport(), a.auditVerify())
}

func auditFlags(c *cobra.Command, r *adminv1.AuditEntriesRequest) {
	f := c.Flags()
	f.Uint64Var(&r.Since, "since", 0, "begin with this `INDEX` of the log (default: the oldest there is)")
	f.Uint64Var(&r.Until, "until", 0, "end with this `INDEX` of the log (default: the newest)")
	complete(c, "since", cobra.NoFileCompletions)
	complete(c, "until", cobra.NoFileCompletions)
}

// entries hands out what a request selects of the trail of the coordinator that answers.
func (a *app) entries(ctx context.Context, r *adminv1.AuditEntriesRequest, take func(*adminv1.AuditEntry) error) error {
	stream, err := adminv1.NewAuditClient(a.client).Entries(ctx, r)
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(e)
		}
		if err != nil {
			return err
		}
	}
}

func (a *app) auditList() *cobra.Command {
	r := &adminv1.AuditEntriesRequest{}
	c := &cobra.Command{
		Use: "list", Short: "List every change and every refusal: who, when, why, what", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `List every transaction in the trail of the coordinator that is asked, oldest first: also those that were refused. To ask a
certain one: --endpoint.`,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			t, list := table{heads: []string{"INDEX", "TIME", "ACTOR", "CAUSE", "RESULT"}}, []object{}
			if a.flags.output == "wide" {
				t.heads = append(t.heads, "OBJECTS")
			}
			err := a.entries(ctx, r, func(e *adminv1.AuditEntry) error {
				result := "done"
				if e.GetRefused() != "" {
					result = "refused: " + e.GetRefused()
				}
				row := []string{number(e.GetIndex()), when(e.GetTime()), dash(e.GetActor()), dash(e.GetCause()), result}
				if a.flags.output == "wide" {
					row = append(row, dash(strings.Join(e.GetObjects(), ",")))
				}
				t.rows, list = append(t.rows, row), append(list, objectOf(e))
				return nil
			})
			switch {
			case err != nil:
				return err
			case a.flags.structured():
				return a.write(list)
			}
			return t.write(a.env.Stdout)
		}),
	}
	auditFlags(c, r)
	c.Flags().StringVar(&r.Actor, "actor", "", "only what `WHO` did, as in admin/anna or agent/n1")
	complete(c, "actor", cobra.NoFileCompletions)
	return c
}

func (a *app) auditExport() *cobra.Command {
	r := &adminv1.AuditEntriesRequest{}
	c := &cobra.Command{
		Use: "export", Short: "Write the trail as it is kept: a line of JSON each, with its hashes", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  rvol audit export >trail.jsonl\n  rvol audit verify --file trail.jsonl",
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.entries(ctx, r, func(e *adminv1.AuditEntry) error {
				_, err := fmt.Fprintln(a.env.Stdout, e.GetLine())
				return err
			})
		}),
	}
	auditFlags(c, r)
	return c
}

func (a *app) auditVerify() *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use: "verify", Short: "Prove that nothing in a trail was altered, removed or put in between", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Prove that every entry of a trail is what was written, and follows the one before. Of a coordinator's own trail, its end is
compared with the replicated state besides, so that one that was written anew as a whole is found out. A file from
` + "`rvol audit export`" + ` is verified without asking anybody: it says the hash of its newest entry, to compare with others.`,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if file != "" {
				return a.verifyFile(file)
			}
			r, err := adminv1.NewAuditClient(a.client).Verify(ctx, &adminv1.AuditVerifyRequest{})
			if err != nil {
				return err
			}
			if r.GetFinding() != "" {
				return failed("audit trail of coordinator %s: %s", r.GetCoordinator(), r.GetFinding())
			}
			for _, gap := range r.GetGaps() {
				a.note("Something is missing before index %d: this coordinator was away, or could not write.", gap)
			}
			return a.changed("audit", r.GetCoordinator(), r, "is sound: %d entries, from index %d to %d, hash %s",
				r.GetHeaders(), r.GetFirst(), r.GetLast(), r.GetChain())
		}),
	}
	c.Flags().StringVar(&file, "file", "", "verify this `FILE` from export, instead of the coordinator's trail; - is standard input")
	return c
}
