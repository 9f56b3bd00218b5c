package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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

// fit leaves out what would push the first lines off the terminal. The lines stay as they are.
func (a *app) fit(lines []string) []string {
	height := 0
	if f, ok := a.env.Stdout.(*os.File); ok {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil {
			height = h - 1 // for the cursor
		}
	}
	return shortened(lines, height)
}

// shortened leaves so many lines, and says how many it leaves out. No height is as good as any.
func shortened(lines []string, height int) []string {
	if height < 2 || len(lines) <= height {
		return slices.Clone(lines)
	}
	return append(slices.Clone(lines[:height-1]), fmt.Sprintf("... %d more lines", len(lines)-height+1))
}

// watchStatus shows the screen anew whenever it changes; elsewhere than on a terminal one after the other.
func (a *app) watchStatus(ctx context.Context) error {
	if a.flags.structured() {
		return usage("watch with -o %s: want table", a.flags.output)
	}
	live, before := a.live(a.env.Stdout), []string(nil)
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
			lines = a.fit(lines)
			lines[0] = clearPage + lines[0]
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
	Capacity []capacity     `json:"capacity" yaml:"capacity"`
}

// capacity is what all volume groups, or all thin pools, have together.
type capacity struct {
	Kind     string `json:"kind" yaml:"kind"`         // thick, thin
	Limit    int64  `json:"limit" yaml:"limit"`       // bytes that may be reserved
	Reserved int64  `json:"reserved" yaml:"reserved"` // bytes
}

func (o overview) document() statusDocument {
	d := statusDocument{
		Cluster: o.cluster.GetId(), Leader: o.cluster.GetLeader(), Problems: append([]problem{}, o.problems()...), Work: append([]string{}, o.work()...),
		Volumes: map[string]int{}, Nodes: map[string]int{}, Capacity: []capacity{},
	}
	for _, kind := range []string{"thick", "thin"} {
		if limit, reserved := o.space(kind == "thin"); limit > 0 {
			d.Capacity = append(d.Capacity, capacity{kind, limit, reserved})
		}
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

// How much of each fits on one screen, beside the other; the documents have all.
const (
	mostProblems = 8
	mostWork     = 8
)

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
	for i, p := range d.Problems {
		if i == mostProblems {
			lines = append(lines, fmt.Sprintf("... and %d more: rvol status -o yaml", len(d.Problems)-i))
			break
		}
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", p.Object, a.coloured(p.State), p.Why), ": "), "    "+p.Next)
	}
	if len(d.Problems) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, table{paint: a.paints(), rows: o.sums(d)}.lines()...)
	if len(d.Work) > 0 {
		lines = append(lines, "", "Work in progress")
		for i, w := range d.Work {
			if i == mostWork {
				lines = append(lines, fmt.Sprintf("  ... and %d more: rvol status -o yaml", len(d.Work)-i))
				break
			}
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
	for _, c := range d.Capacity {
		used := percent(100 * float64(c.Reserved) / float64(c.Limit))
		rows = append(rows, []string{strings.ToUpper(c.Kind) + " SPACE", humanSize(c.Limit), fmt.Sprintf("%s reserved (%s)", humanSize(c.Reserved), used)})
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
