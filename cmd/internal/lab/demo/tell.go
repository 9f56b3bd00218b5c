package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Narrator tells the story to people.
type Narrator struct {
	mu     sync.Mutex
	out    io.Writer
	bold   bool
	begun  time.Time
	deeds  []deed
	number int
}

// deed is a row of the table at the end.
type deed struct {
	what string
	took time.Duration
}

// NewNarrator tells on out, with bold letters if it is a terminal.
func NewNarrator(out io.Writer, terminal bool) *Narrator {
	return &Narrator{out: out, bold: terminal, begun: time.Now()}
}

func (n *Narrator) print(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, format, args...) // the terminal is gone: nobody to tell
}

func (n *Narrator) strong(text string) string {
	if !n.bold {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// Chapter begins a step of the story.
func (n *Narrator) Chapter(title string) {
	n.number++
	n.print("\n%s\n", n.strong(fmt.Sprintf("%d. %s", n.number, title)))
}

// Say is a line for people.
func (n *Narrator) Say(format string, args ...any) {
	n.print("   %s\n", fmt.Sprintf(format, args...))
}

// Loud says what nobody may overlook.
func (n *Narrator) Loud(lines ...string) {
	bar := strings.Repeat("!", 78)
	n.print("\n%s\n", bar)
	for _, l := range lines {
		n.print("%s\n", n.strong(l))
	}
	n.print("%s\n\n", bar)
}

// Command says that line runs on a machine, "" for this one.
func (n *Narrator) Command(machine, line string) {
	prompt := "$ "
	if machine != "" {
		prompt = machine + "# "
	}
	n.print("%s\n", n.strong(prompt+line))
}

// Progress takes the lines that a world tells while it comes up.
func (n *Narrator) Progress() io.Writer { return progress{n} }

type progress struct{ n *Narrator }

func (p progress) Write(b []byte) (int, error) {
	p.n.print("%s", b)
	return len(b), nil
}

// Timed does something that gets a row in the table.
func (n *Narrator) Timed(what string, do func() error) error {
	begun := time.Now()
	err := do()
	if err == nil {
		n.deeds = append(n.deeds, deed{what, time.Since(begun)})
	}
	return err
}

// Table is what was done and how long it took.
func (n *Narrator) Table(title string) {
	var b strings.Builder
	width := 0
	for _, d := range n.deeds {
		width = max(width, len(d.what))
	}
	fmt.Fprintf(&b, "\n%s\n", n.strong(title))
	for _, d := range n.deeds {
		fmt.Fprintf(&b, "  %-*s  %6.1f s\n", width, d.what, d.took.Seconds())
	}
	fmt.Fprintf(&b, "  %-*s  %6.1f s\n", width, "all in all", time.Since(n.begun).Seconds())
	n.print("%s", b.String())
}
