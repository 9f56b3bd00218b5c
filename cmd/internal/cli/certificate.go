package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) certificateCommand() *cobra.Command {
	n := a.certificates()
	return a.group("certificate", "Certificates of people: which were made, and which are revoked", n.listCommand(), n.showCommand(), a.certificateRevoke())
}

func (a *app) certificates() noun[*adminv1.Certificate] {
	type certificate = *adminv1.Certificate
	return noun[certificate]{
		app: a, kind: "certificate", reads: []string{"identity"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]certificate, error) {
			r, err := adminv1.NewCertificatesClient(a.client).List(ctx, q)
			return r.GetCertificates(), err
		},
		columns: []column[certificate]{
			{head: "NAME", cell: func(c certificate) string { return c.GetMeta().GetName() }},
			{head: "OF", cell: certificate.GetSubject},
			{head: "ROLE", cell: certificate.GetRole},
			{head: "STATE", cell: a.certificateState},
			{head: "EXPIRES", wide: true, cell: func(c certificate) string { return when(c.GetExpiresAt()) }},
			{head: "REVOKED BY", wide: true, cell: certificate.GetRevokedBy},
			{head: "REASON", wide: true, cell: certificate.GetReason},
			{head: "AGE", cell: func(c certificate) string { return a.age(c.GetMeta().GetCreatedAt()) }},
		},
	}
}

func (a *app) certificateState(c *adminv1.Certificate) string {
	switch {
	case c.GetRevokedAt() != nil:
		return "revoked " + a.age(c.GetRevokedAt()) + " ago"
	case c.GetExpiresAt() == nil:
		return "valid"
	case !c.GetExpiresAt().AsTime().After(a.env.Now()):
		return "expired"
	default:
		return "valid for " + short(c.GetExpiresAt().AsTime().Sub(a.env.Now()))
	}
}

func (a *app) certificateRevoke() *cobra.Command {
	r, ok := &adminv1.RevokeCertificateRequest{}, consent{app: a}
	c := &cobra.Command{
		Use: "revoke [NAME]", Short: "End a certificate at every door, at once and for good", Args: args("[NAME]"),
		Long: `End a certificate at every coordinator, at once and for good: calls with it are refused, and streams end. NAME is its
fingerprint. Another is made on a coordinator's machine: rvol-coordinator admin-cert. One that was made while there was no leader is
not listed, and is revoked by its fingerprint all the same, which admin-cert has told.`,
		Example:           "  rvol certificate revoke --subject anna --reason 'laptop lost' --yes-i-mean anna",
		ValidArgsFunction: a.completeEach("certificate"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			name := r.GetSubject()
			if len(args) > 0 {
				r.Name, name = args[0], args[0]
			}
			if (len(args) > 0) == (r.GetSubject() != "") {
				return usage("say either which certificate, or whose all of them are, with --subject")
			}
			if err := ok.ask(c, name, "ends the certificate for good"); err != nil {
				return err
			}
			r.Confirm = name
			got, err := adminv1.NewCertificatesClient(a.client).Revoke(ctx, r)
			if err != nil {
				return err
			}
			for _, one := range got.GetCertificates() {
				if err := a.changed("certificate", one.GetMeta().GetName(), one, "revoked"); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.Flags().StringVar(&r.Subject, "subject", "", "all certificates on record of this `PERSON`")
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the record")
	complete(c, "subject", cobra.NoFileCompletions)
	complete(c, "reason", cobra.NoFileCompletions)
	ok.nameFlag(c)
	return c
}
