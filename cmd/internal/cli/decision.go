package cli

import (
	"fmt"
	"strings"

	adminv1 "rvol/proto/admin/v1"
)

// writeDecision writes one pass of the scheduler: where each replica goes, and a table of what else there was.
func (a *app) writeDecision(d *adminv1.Decision) error {
	where := table{heads: []string{"REPLICA", "TYPE", "PLACE", "MESSAGE"}, paint: a.paints()}
	for _, r := range d.GetReplicas() {
		where.rows = append(where.rows, []string{number(r.GetId()), r.GetType(), dash(placeOf(r)), dash(whyThere(r))})
	}
	if err := where.write(a.env.Stdout); err != nil {
		return err
	}
	if d.GetSearch() != "" {
		if _, err := fmt.Fprintf(a.env.Stdout, "\nThe whole layout was searched: %s\n", d.GetSearch()); err != nil {
			return err
		}
	}
	for _, r := range d.GetReplicas() {
		if err := a.writeAlternatives(r); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) writeAlternatives(r *adminv1.DecisionReplica) error {
	if len(r.GetAlternatives()) == 0 {
		return nil
	}
	t := table{heads: []string{"CANDIDATE", "ZONE", "SCORE", "MADE OF", "FREE", "EXCLUDED BY"}}
	for _, c := range r.GetAlternatives() {
		name := place(c.GetNode(), c.GetVg(), c.GetThinPool())
		if c.GetChosen() {
			name += " *"
		}
		score, free := "", ""
		if c.GetExcludedBy() == "" {
			score = number(c.GetScore())
		}
		if c.GetVg() != "" {
			free = humanSize(c.GetAvailable())
		}
		t.rows = append(t.rows, []string{name, dash(c.GetZone()), dash(score), dash(parts(c.GetParts())), dash(free), dash(c.GetExcludedBy())})
	}
	if _, err := fmt.Fprintf(a.env.Stdout, "\nReplica %d (%s): %s\n", r.GetId(), r.GetType(), r.GetSummary()); err != nil {
		return err
	}
	for _, line := range t.lines() {
		if _, err := fmt.Fprintf(a.env.Stdout, "  %s\n", line); err != nil {
			return err
		}
	}
	if r.GetOmitted() > 0 {
		_, err := fmt.Fprintf(a.env.Stdout, "  and %d more\n", r.GetOmitted())
		return err
	}
	return nil
}

func placeOf(r *adminv1.DecisionReplica) string {
	return place(r.GetNode(), r.GetVg(), r.GetThinPool())
}

// place writes a place as NODE/VG/THINPOOL, as far as it has them.
func place(names ...string) string {
	var given []string
	for _, n := range names {
		if n != "" {
			given = append(given, n)
		}
	}
	return strings.Join(given, "/")
}

// whyThere is what there is to say of a replica besides that it has its place.
func whyThere(r *adminv1.DecisionReplica) string {
	switch {
	case r.GetReason() != "Scheduled":
		return r.GetMessage()
	case r.GetBySearch():
		return "by the search of the whole layout"
	case !r.GetChosen():
		return "it was there before"
	}
	return ""
}

func parts(list []*adminv1.ScorePart) string {
	var words []string
	for _, p := range list {
		words = append(words, fmt.Sprintf("%s %+d", p.GetRule(), p.GetPoints()))
	}
	return strings.Join(words, ", ")
}
