package eligibility

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/model/selector"
)

// Reasons of a pool's Ready condition.
const (
	PoolReady                  = "Ready"
	PoolLVMVolumeGroupNotFound = "LVMVolumeGroupNotFound"
	PoolInvalidLVMVolumeGroup  = "InvalidLVMVolumeGroup" // it is there, without what the pool wants of it
	PoolInvalidLabelSelector   = "InvalidNodeLabelSelector"
)

// An Outcome is the eligible nodes of a pool.
type Outcome struct {
	Nodes    []EligibleNode // sorted by name, LVGs by name
	Revision int64          // one more than before when, and only when, Nodes changed
	Changed  bool

	// NextExpiry is when the first grace period ends, from now; 0: none is running.
	NextExpiry time.Duration

	Ready    bool
	Reason   string
	Message  string
	Excluded []Exclusion // which nodes are not in the list, and why, by name
}

// An Exclusion says why a node may hold nothing of the pool.
type Exclusion struct {
	Node string
	Why  string
}

// Eligible computes the eligible nodes of a pool from what is known now and the list that stands.
// A pool whose configuration is invalid keeps the list that stands.
func Eligible(p Pool, nodes []Node, standing []EligibleNode, revision int64) Outcome {
	out := Outcome{Nodes: standing, Revision: revision}
	if out.Reason, out.Message = invalid(p, nodes); out.Reason != "" {
		return out
	}
	out.Ready, out.Reason = true, PoolReady
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	now := make([]EligibleNode, 0, len(sorted))
	for _, n := range sorted {
		if why := excluded(p, n); why != "" {
			out.Excluded = append(out.Excluded, Exclusion{Node: n.Name, Why: why})
			continue
		}
		now = append(now, entry(p, n))
		if n.Readiness == NotReady {
			out.NextExpiry = earlier(out.NextExpiry, p.Grace-n.NotReadyFor)
		}
	}
	out.Message = fmt.Sprintf("%d eligible nodes", len(now))
	if !slices.EqualFunc(now, standing, EligibleNode.Equal) {
		out.Nodes, out.Revision, out.Changed = now, revision+1, true
	}
	return out
}

func invalid(p Pool, nodes []Node) (reason, message string) {
	for _, s := range []selector.Selector{p.Nodes, p.Selector} {
		if err := s.Validate(); err != nil {
			return PoolInvalidLabelSelector, err.Error()
		}
	}
	var missing, lacking []string
	for _, vg := range p.VGs {
		there, usable := p.offers(nodes, vg)
		switch {
		case !there:
			missing = append(missing, vg)
		case !usable:
			lacking = append(lacking, vg)
		}
	}
	switch {
	case len(missing) > 0:
		return PoolLVMVolumeGroupNotFound, "no node offers a volume group named " + strings.Join(missing, ", ")
	case len(lacking) == 0:
		return "", ""
	}
	wants := "thick volumes"
	if p.ThinPool != "" {
		wants = fmt.Sprintf("thin pool %q", p.ThinPool)
	}
	return PoolInvalidLVMVolumeGroup, fmt.Sprintf("volume group %s is offered, but on no node with %s", strings.Join(lacking, ", "), wants)
}

// offers says whether any node offers a volume group of that name, and whether any that the pool can use.
func (p Pool) offers(nodes []Node, vg string) (there, usable bool) {
	for _, n := range nodes {
		for _, l := range n.LVGs {
			if l.VG == vg {
				_, fits := p.place(l)
				there, usable = true, usable || fits
			}
		}
	}
	return there, usable
}

func excluded(p Pool, n Node) string {
	if len(p.Zones) > 0 && !slices.Contains(p.Zones, n.Zone) {
		return fmt.Sprintf("zone %q is not one of %s", n.Zone, strings.Join(p.Zones, ", "))
	}
	for _, r := range p.Nodes {
		if !r.Matches(n.Labels) {
			return fmt.Sprintf("labels do not match %s", r)
		}
	}
	for _, network := range p.Networks {
		if !slices.Contains(n.Networks, network) {
			return fmt.Sprintf("no address on network %q", network)
		}
	}
	if n.Readiness == NotReady && n.NotReadyFor >= p.Grace {
		return fmt.Sprintf("NotReady for %s, grace is %s", n.NotReadyFor, p.Grace)
	}
	return ""
}

func entry(p Pool, n Node) EligibleNode {
	e := EligibleNode{
		Node: n.Name, Zone: n.Zone, Unschedulable: n.Unschedulable,
		NodeReady: n.Readiness == Ready, AgentReady: n.AgentReady, DRBD: n.DRBD,
	}
	for _, l := range n.LVGs {
		if place, ok := p.place(l); ok {
			e.LVGs = append(e.LVGs, place)
		}
	}
	slices.SortFunc(e.LVGs, func(a, b EligibleLVG) int { return cmp.Compare(a.VG, b.VG) })
	return e
}

// place is what the LVG offers to the pool: itself, or the pool's thin pool in it.
func (p Pool) place(l LVG) (EligibleLVG, bool) {
	if len(p.VGs) > 0 && !slices.Contains(p.VGs, l.VG) || !p.Selector.Matches(l.Labels) {
		return EligibleLVG{}, false
	}
	e := EligibleLVG{VG: l.VG, ThinPool: p.ThinPool, ID: l.ID, Unschedulable: l.Unschedulable, Ready: l.Ready}
	if p.ThinPool == "" {
		return e, !l.ThickOff
	}
	i := slices.IndexFunc(l.ThinPools, func(t ThinPool) bool { return t.Name == p.ThinPool })
	if i < 0 {
		return EligibleLVG{}, false
	}
	e.ID, e.Ready = l.ThinPools[i].ID, l.Ready && l.ThinPools[i].Ready
	return e, true
}

func earlier(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
