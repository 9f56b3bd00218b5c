package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) eventCommand() *cobra.Command {
	return a.group("event", "What happened: who changed what, when and why", a.eventList(), a.eventWatch())
}

// eventKinds are the kinds of event.
var eventKinds = []string{"placement", "reject", "retry", "repair", "fence", "transition", "change"}

func (a *app) eventFlags(c *cobra.Command, r *adminv1.ListEventsRequest) {
	f := c.Flags()
	f.Uint64Var(&r.Since, "since", 0, "begin with this `INDEX` of the log")
	f.StringVar(&r.Node, "node", "", "only what concerns this node")
	f.StringVar(&r.Volume, "volume", "", "only what concerns this volume")
	f.StringSliceVar(&r.Kinds, "kind", nil, "only events of this `KIND`: "+strings.Join(eventKinds, ", ")+"; may be repeated")
	complete(c, "kind", fixed(eventKinds...))
	complete(c, "node", a.completeNames("node"))
	complete(c, "volume", a.completeNames("volume"))
}

func (a *app) eventList() *cobra.Command {
	r := &adminv1.ListEventsRequest{}
	c := &cobra.Command{
		Use: "list", Short: "List what happened, oldest first", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			answer, err := adminv1.NewEventsClient(a.client).List(ctx, r)
			if err != nil {
				return err
			}
			return a.writeEvents(answer.GetEvents())
		}),
	}
	a.eventFlags(c, r)
	c.Flags().Int32Var(&r.Limit, "limit", 0, "only the newest `N`")
	return c
}

func (a *app) writeEvents(events []*adminv1.Event) error {
	switch {
	case a.flags.structured():
		list := make([]object, len(events))
		for i, e := range events {
			list[i] = objectOf(e)
		}
		return a.write(list)
	case a.flags.output == "name":
		for _, e := range events {
			if err := a.writeEvent(e); err != nil {
				return err
			}
		}
		return nil
	}
	return a.eventTable(events).write(a.env.Stdout)
}

func (a *app) eventTable(events []*adminv1.Event) table {
	t := table{heads: eventHeads()}
	if a.flags.output == "wide" {
		t.heads = append(t.heads, eventWide)
	}
	for _, e := range events {
		t.rows = append(t.rows, a.eventRow(e))
	}
	return t
}

func eventHeads() []string { return []string{"INDEX", "TIME", "KIND", "ACTOR", "CAUSE"} }

const eventWide = "OBJECTS"

func (a *app) eventRow(e *adminv1.Event) []string {
	cause := dash(e.GetCause())
	if e.GetRefused() != "" {
		cause += ": refused: " + e.GetRefused()
	}
	row := []string{number(e.GetIndex()), when(e.GetTime()), dash(e.GetKind()), dash(e.GetActor()), cause}
	if a.flags.output == "wide" {
		row = append(row, dash(strings.Join(e.GetObjects(), ",")))
	}
	return row
}

func (a *app) eventWatch() *cobra.Command {
	r := &adminv1.ListEventsRequest{}
	c := &cobra.Command{
		Use: "watch", Short: "Go on telling what happens", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Go on telling what happens, without gaps, until interrupted or until --timeout. With -o json every event is one line.`,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return watched(ctx, a.watchEvents(ctx, r))
		}),
	}
	a.eventFlags(c, r)
	return c
}

// watchEvents goes on where it was whenever a coordinator goes away.
func (a *app) watchEvents(ctx context.Context, r *adminv1.ListEventsRequest) error {
	for {
		stream, err := adminv1.NewEventsClient(a.client).Watch(ctx, r)
		for err == nil {
			var e *adminv1.Event
			if e, err = stream.Recv(); err != nil {
				break
			}
			r.Since, r.SinceNumber = e.GetIndex(), e.GetNumber()+1 // several events may have one index
			if err := a.writeEvent(e); err != nil {
				return err
			}
		}
		if status.Code(err) == codes.OutOfRange {
			f := failed("events since %d: %s", r.GetSince(), plain(err))
			f.next = "Older ones are no longer kept: begin later with --since."
			return f
		}
		if !comesBack(err) {
			return err
		}
		a.note("%s", plain(err))
		sleep(ctx, interval)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (a *app) writeEvent(e *adminv1.Event) (err error) {
	switch a.flags.output {
	case "json":
		return json.NewEncoder(a.env.Stdout).Encode(objectOf(e))
	case "yaml":
		if _, err := fmt.Fprintln(a.env.Stdout, "---"); err != nil {
			return err
		}
		return a.write(objectOf(e))
	case "name":
		_, err = fmt.Fprintf(a.env.Stdout, "event/%d\n", e.GetIndex())
	default:
		_, err = fmt.Fprintln(a.env.Stdout, strings.Join(a.eventRow(e), "  "))
	}
	return err
}
