package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) applyCommand() *cobra.Command {
	var files []string
	dryRun := false
	c := &cobra.Command{
		Use: "apply -f FILE", Short: "Make objects as a file says", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Make objects as a file says: create what is not there, change what differs, leave alone what is so already.

A file holds one YAML document or several, each with a kind (node, lvg, pool, class, quota or volume), a name, and the fields that
are meant; what a document leaves out stays as it is, or gets its default. ` + "`rvol export`" + ` writes such documents. Everything is
checked before anything is written.`,
		Example: "  rvol apply -f storage.yaml --dry-run\n  rvol export | rvol apply -f -",
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			docs, err := a.documents(files)
			if err != nil {
				return err
			}
			return a.apply(ctx, docs, dryRun)
		}),
	}
	c.Flags().StringSliceVarP(&files, "file", "f", nil, "`FILE` of objects; - is standard input; may be repeated")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	need(c, "file")
	return c
}

// documents reads all files; one object may be in only one place.
func (a *app) documents(files []string) ([]document, error) {
	var all []document
	at := map[string]document{}
	for _, file := range files {
		docs, err := a.readFile(file)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if before, twice := at[d.key()]; twice {
				return nil, usage("%s: %s %s is there twice, first at %s", d.place(), d.kind, d.wanted.GetSpec().GetName(), before.place())
			}
			at[d.key()] = d
		}
		all = append(all, docs...)
	}
	if len(all) == 0 {
		return nil, usage("there is no object to apply")
	}
	return all, nil
}

func (a *app) readFile(file string) ([]document, error) {
	if file == "-" {
		return readDocuments("standard input", a.env.Stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, failed("read objects: %s", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return readDocuments(file, io.Reader(f))
}

func (a *app) apply(ctx context.Context, docs []document, dryRun bool) error {
	r := &adminv1.ApplyRequest{DryRun: dryRun}
	for _, d := range docs {
		r.Objects = append(r.Objects, d.wanted)
	}
	answer, err := adminv1.NewObjectsClient(a.client).Apply(ctx, r)
	if err != nil {
		return a.refusedDocument(ctx, docs, err)
	}
	if a.flags.structured() {
		list := make([]object, len(answer.GetApplied()))
		for i, o := range answer.GetApplied() {
			list[i] = objectOf(o)
		}
		return a.write(list)
	}
	for _, o := range answer.GetApplied() {
		if err := a.writeApplied(o, dryRun); err != nil {
			return err
		}
	}
	return nil
}

// refusedDocument says of a refusal in which file and line its object stands.
func (a *app) refusedDocument(ctx context.Context, docs []document, err error) error {
	f := a.explain(ctx, err)
	for _, d := range docs {
		if refersTo(err, d.key()) {
			f.what = d.place() + ": " + f.what
			break
		}
	}
	return f
}

func (a *app) writeApplied(o *adminv1.Applied, dryRun bool) error {
	w := a.env.Stdout
	if a.flags.output == "name" {
		_, err := fmt.Fprintf(w, "%s/%s\n", o.GetKind(), o.GetName())
		return err
	}
	if a.flags.quiet {
		return nil
	}
	result := o.GetResult()
	if dryRun && result != "unchanged" {
		result = "would be " + result
	}
	if _, err := fmt.Fprintf(w, "%s %s %s\n", o.GetKind(), o.GetName(), result); err != nil {
		return err
	}
	if o.GetResult() == "created" && !dryRun {
		return nil // it is as the file says
	}
	for _, d := range o.GetDifferences() {
		text := d.GetTo()
		if o.GetResult() != "created" {
			text = dash(d.GetFrom()) + " -> " + dash(d.GetTo())
		}
		if _, err := fmt.Fprintf(w, "  %s: %s\n", d.GetField(), text); err != nil {
			return err
		}
	}
	return nil
}
