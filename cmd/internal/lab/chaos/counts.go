package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// counts is what was done, by name.
type counts struct {
	mu   *sync.Mutex
	rows map[string]map[string]int // by group, by name
}

// The groups of the table.
const (
	faultGroup = "fault"
	askedGroup = "operation"
	doneGroup  = "succeeded"
)

func newCounts() counts { return counts{mu: &sync.Mutex{}, rows: map[string]map[string]int{}} }

func (c counts) add(group, name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows[group] == nil {
		c.rows[group] = map[string]int{}
	}
	c.rows[group][name] += n
}

// expect makes a row that must not stay empty.
func (c counts) expect(group, name string) { c.add(group, name, 0) }

// complete complains of what was never met and never succeeded.
func (c counts) complete(wrong func(format string, args ...any)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for group, rows := range c.rows {
		for name, n := range rows {
			if n == 0 {
				wrong("%s %q: not once: the run is too short to prove anything of it", group, name)
			}
		}
	}
}

// missing says that something was not met yet.
func (c counts) missing() bool {
	missed := false
	c.complete(func(string, ...any) { missed = true })
	return missed
}

// String is a table for people.
func (c counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	var groups []string
	for g := range c.rows {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	for _, g := range groups {
		var names []string
		for name := range c.rows[g] {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, "%-10s %-44s %6d\n", g, name, c.rows[g][name])
		}
	}
	return b.String()
}
