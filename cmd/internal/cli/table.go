package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table lines up rows under heads. It counts letters before it adds colour, which text/tabwriter cannot.
type table struct {
	heads []string
	rows  [][]string
	paint bool
}

func (t table) write(w io.Writer) error {
	for _, line := range t.lines() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// lines are the head, if there is one, and the rows.
func (t table) lines() []string {
	all := t.rows
	if t.heads != nil {
		all = append([][]string{t.heads}, t.rows...)
	}
	widths := map[int]int{}
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(all))
	for r, row := range all {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			if i == len(row)-1 {
				pad = ""
			}
			if t.paint && (r > 0 || t.heads == nil) {
				cell = paint(cell)
			}
			b.WriteString(cell + pad)
		}
		lines[r] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// The colours of words that say how something is; all other words stay as they are.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plainC = "\x1b[0m"
)

var colours = map[string]string{
	"ready": green, "Ready": green, "UpToDate": green, "Connected": green, "Succeeded": green,
	"forming": yellow, "degraded": yellow, "syncing": yellow, "deleting": yellow, "unknown": yellow, "Unknown": yellow,
	"Inconsistent": yellow, "Outdated": yellow, "Connecting": yellow, "Pending": yellow, "Running": yellow, "cordoned": yellow,
	"unavailable": red, "suspended": red, "NotReady": red, "fenced": red, "Failed": red, "StandAlone": red,
}

func paint(cell string) string {
	word, _, _ := strings.Cut(cell, ",")
	if c, ok := colours[word]; ok {
		return c + cell + plainC
	}
	return cell
}

// paints says whether to use colour on Stdout.
func (a *app) paints() bool {
	return a.env.Getenv("NO_COLOR") == "" && a.live(a.env.Stdout)
}

// live says whether somebody looks at a stream, on a terminal that can do more than print.
func (a *app) live(stream any) bool {
	return a.env.Getenv("TERM") != "dumb" && a.env.IsTerminal(stream)
}
