package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	watch := false
	c := &cobra.Command{
		Use: "status", Short: "Show on one screen what is wrong, what to do about it, and what is going on",
		Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if watch {
				return a.watchStatus(ctx)
			}
			o, err := a.overview(ctx)
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(o.document())
			}
			return a.writeLines(a.screen(o))
		}),
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show it again whenever it changes")
	return c
}

// topCommand is what people type who know other systems.
func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Show the status and keep it up to date", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.watchStatus(ctx) }),
	}
}

func (a *app) writeLines(lines []string) error {
	_, err := fmt.Fprintln(a.env.Stdout, strings.Join(lines, "\n"))
	return err
}

// watchStatus shows the screen anew whenever it changes; elsewhere than on a terminal one after the other.
func (a *app) watchStatus(ctx context.Context) error {
	if a.flags.structured() {
		return usage("watch with -o %s: want table", a.flags.output)
	}
	live, before := a.env.IsTerminal(a.env.Stdout), []string(nil)
	err := a.follow(ctx, overviewReads, func(ctx context.Context) (bool, error) {
		o, err := a.overview(ctx)
		if comesBack(err) && over(ctx) == nil {
			a.note("%s", plain(err))
			return false, nil
		}
		if err != nil {
			return false, err
		}
		lines := a.screen(o)
		if slices.Equal(lines, before) {
			return false, nil
		}
		before = lines
		if live {
			lines = append([]string{clearPage + lines[0]}, lines[1:]...)
		}
		return false, a.writeLines(lines)
	})
	return watched(ctx, err)
}

// statusDocument is the status for programs.
type statusDocument struct {
	Cluster  string         `json:"cluster" yaml:"cluster"`
	Leader   string         `json:"leader" yaml:"leader"`
	Healthy  bool           `json:"healthy" yaml:"healthy"`
	Problems []problem      `json:"problems" yaml:"problems"`
	Work     []string       `json:"work" yaml:"work"`
	Volumes  map[string]int `json:"volumes" yaml:"volumes"` // how many, by state
	Nodes    map[string]int `json:"nodes" yaml:"nodes"`
}

func (o overview) document() statusDocument {
	d := statusDocument{
		Cluster: o.cluster.GetId(), Leader: o.cluster.GetLeader(), Problems: append([]problem{}, o.problems()...), Work: append([]string{}, o.work()...),
		Volumes: map[string]int{}, Nodes: map[string]int{},
	}
	d.Healthy = len(d.Problems) == 0
	for _, v := range o.volumes {
		d.Volumes[v.GetState()]++
	}
	for _, n := range o.nodes {
		d.Nodes[nodeState(n)]++
	}
	return d
}

// screen is the status for people.
func (a *app) screen(o overview) []string {
	d := o.document()
	verdict := "everything is well"
	switch n := len(d.Problems); {
	case n == 1:
		verdict = "1 thing needs attention"
	case n > 1:
		verdict = fmt.Sprintf("%d things need attention", n)
	}
	lines := []string{fmt.Sprintf("cluster %s: %s", d.Cluster, verdict), ""}
	for _, p := range d.Problems {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", p.Object, a.coloured(p.State), p.Why), ": "), "    "+p.Next)
	}
	if len(d.Problems) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, table{paint: a.paints(), rows: o.sums(d)}.lines()...)
	if len(d.Work) > 0 {
		lines = append(lines, "", "Work in progress")
		for _, w := range d.Work {
			lines = append(lines, "  "+w)
		}
	}
	return lines
}

func (a *app) coloured(word string) string {
	if a.paints() {
		return paint(word)
	}
	return word
}

// sums are how much there is of everything.
func (o overview) sums(d statusDocument) [][]string {
	voters := 0
	for _, m := range o.cluster.GetMembers() {
		if m.GetVoter() {
			voters++
		}
	}
	rows := [][]string{
		{"COORDINATORS", fmt.Sprintf("%d of %d vote", voters, len(o.cluster.GetMembers())), "leader " + dash(d.Leader)},
		{"NODES", number(int64(len(o.nodes))), tally(d.Nodes)},
		{"VOLUMES", number(int64(len(o.volumes))), tally(d.Volumes)},
	}
	for _, kind := range []string{"THICK SPACE", "THIN SPACE"} {
		if size, reserved := o.space(kind == "THIN SPACE"); size > 0 {
			rows = append(rows, []string{kind, humanSize(size), fmt.Sprintf("%s reserved (%s)", humanSize(reserved), percent(100*float64(reserved)/float64(size)))})
		}
	}
	return rows
}

// space is how far reservations may grow in all groups or thin pools, and how large they are.
func (o overview) space(thin bool) (limit, reserved int64) {
	for _, g := range o.groups {
		for _, s := range g.GetSpaces() {
			if (s.GetThinPool() != "") == thin && (thin || !g.GetThickOff()) {
				limit, reserved = limit+s.GetLimit(), reserved+s.GetReserved()
			}
		}
	}
	return limit, reserved
}

// tally writes "9 ready, 1 degraded", the most frequent first.
func tally(of map[string]int) string {
	words := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", of[w], w)
	}
	return strings.Join(words, "; ")
}
