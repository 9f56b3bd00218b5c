package eligibility

import (
	"fmt"
	"strings"

	"rvol/coordinator/decide/layout"
)

// Why the nodes of a pool cannot hold a class.
const (
	ReasonInsufficientEligibleNodes = "InsufficientEligibleNodes"
	ReasonInvalidConfiguration      = "InvalidConfiguration"
)

// A ClassNode is an eligible node as validation sees it. Readiness does not matter: nodes come back.
type ClassNode struct {
	Name  string
	Zone  string // "" is a zone of its own
	Disks int    // LVGs of the pool on this node
}

// A Verdict says whether nodes can hold a class, and what is missing in numbers when they cannot.
type Verdict struct {
	Valid   bool
	Reason  string // empty when valid
	Message string
}

// Validate says whether the eligible nodes can hold the layout under the topology.
func Validate(t layout.Topology, l layout.Layout, nodes []ClassNode) Verdict {
	if err := layout.CheckTopology(l.FTT, l.GMDR, t); err != nil {
		return Verdict{Reason: ReasonInvalidConfiguration, Message: err.Error()}
	}
	if len(nodes) == 0 {
		return insufficient(l, t, "no nodes available in the storage pool, "+needs(l))
	}
	zones := zonesOf(nodes)
	switch t {
	case layout.Zonal:
		return validateZonal(l, zones)
	case layout.TransZonal:
		return validateTransZonal(l, zones)
	case layout.Ignored:
	}
	all := total(zones)
	if missing := missingIn(l, all); missing != "" {
		return insufficient(l, t, missing)
	}
	return valid(l, fmt.Sprintf("%s, have %d nodes, %d with disks", needs(l), all.nodes, all.disks))
}

// validateZonal asks every zone by itself: the volume may be placed in any of them.
func validateZonal(l layout.Layout, zones []zone) Verdict {
	var short []string
	for _, z := range zones {
		if missing := missingIn(l, z); missing != "" {
			short = append(short, z.String()+" "+missing)
		}
	}
	if len(short) > 0 {
		return insufficient(l, layout.Zonal, strings.Join(short, "; "))
	}
	return valid(l, fmt.Sprintf("each of %d zones has what is needed: %s", len(zones), needs(l)))
}

func missingIn(l layout.Layout, z zone) string {
	var missing []string
	if short := l.Replicas() - z.nodes; short > 0 {
		missing = append(missing, fmt.Sprintf("requires at least %d nodes, have %d (%d missing)", l.Replicas(), z.nodes, short))
	}
	if short := l.Diskful - z.disks; short > 0 {
		missing = append(missing,
			fmt.Sprintf("requires at least %d nodes with disks, have %d (%d missing)", l.Diskful, z.disks, short))
	}
	return strings.Join(missing, " and ")
}

func needs(l layout.Layout) string {
	return fmt.Sprintf("requires %d nodes, %d of them with disks", l.Replicas(), l.Diskful)
}

func valid(l layout.Layout, says string) Verdict {
	return Verdict{Valid: true, Message: fmt.Sprintf("%s: %s", subject(l), says)}
}

func insufficient(l layout.Layout, t layout.Topology, says string) Verdict {
	with := ""
	if t != layout.Ignored {
		with = fmt.Sprintf(" with %s topology", t)
	}
	return Verdict{
		Reason:  ReasonInsufficientEligibleNodes,
		Message: fmt.Sprintf("%s%s: %s", subject(l), with, says),
	}
}

func subject(l layout.Layout) string {
	return fmt.Sprintf("FTT=%d, GMDR=%d (%s)", l.FTT, l.GMDR, l.Short())
}
