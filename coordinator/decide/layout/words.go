package layout

import (
	"fmt"
	"strings"
)

// Words explain a layout to a person, one sentence for each question.
type Words struct {
	Short  string // "2D+1TB"
	Copies string // how many copies on how many nodes and zones
	Access string // what may fail without losing access
	Data   string // what may fail without losing data
}

// String is the sentences in their order.
func (w Words) String() string { return strings.Join([]string{w.Copies, w.Access, w.Data}, " ") }

// Short names a layout the way DRBD people do: "2D+1TB".
func (l Layout) Short() string {
	s := fmt.Sprintf("%dD", l.Diskful)
	if l.TieBreakers > 0 {
		s += fmt.Sprintf("+%dTB", l.TieBreakers)
	}
	if l.Arbiter {
		s += "+arbiter"
	}
	return s
}

// Explain says what a layout means under a topology.
func (l Layout) Explain(t Topology) Words {
	return Words{Short: l.Short(), Copies: l.copies(t), Access: l.access(t), Data: l.data(t)}
}

func (l Layout) copies(t Topology) string {
	s := fmt.Sprintf("%s on %s", count(l.Diskful, "copy", "copies"), count(l.Diskful, "node", "nodes"))
	switch {
	case l.TieBreakers > 0:
		s += " and a tie-breaker without data on one more"
	case l.Arbiter:
		s += "; the coordinators take the tie-breaker's place"
	}
	switch t {
	case Zonal:
		s += ", all in one zone"
	case TransZonal:
		s += fmt.Sprintf(", spread over %d zones or more", l.LeastZones())
	case Ignored:
		s += ", in any zones"
	}
	return s + "."
}

func (l Layout) access(t Topology) string {
	if l.FTT == 0 {
		if l.Diskful == 1 {
			return "The volume stops when its node fails."
		}
		return "The volume stops when any one of its nodes fails, and goes on when that node is back."
	}
	s := fmt.Sprintf("Any %s may fail", count(l.FTT, "node", "nodes"))
	if t == TransZonal {
		s += ", or any 1 zone,"
	}
	return s + " and the volume stays usable."
}

func (l Layout) data(t Topology) string {
	if l.GMDR == 0 {
		if l.Diskful == 1 {
			return "There is one copy: the loss of its disk is the loss of the data."
		}
		return "The volume may go on with a single copy: what is written then is lost with it."
	}
	s := fmt.Sprintf("A write is confirmed only while at least %s are up to date, so any %s may be lost",
		count(l.QuorumMinimumRedundancy, "copy", "copies"), count(l.GMDR, "copy", "copies"))
	if t == TransZonal && l.FTT == 0 {
		s += ", or any 1 zone,"
	}
	return s + " without losing data."
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
