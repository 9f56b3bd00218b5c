package invariant

import (
	"fmt"
	"slices"

	"rvol/coordinator/decide/compare"
	"rvol/coordinator/decide/formation"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Pool is one volume group or thin pool with its ledger.
type Pool struct {
	*model.Capacity
	Charged int64 // what the ledger says, in bytes
}

// Input is what can be seen.
type Input struct {
	compare.Input
	Pools    []Pool
	Index    uint64   // of the state
	Leaks    []string // where a secret was found that has no place there
	Searched int      // texts in which secrets were looked for
}

// Verdict is what there is to say of one promise.
type Verdict struct {
	ID, Says string
	Status   model.Status
	Findings []string
}

// Judge goes through all promises. I8 needs the other coordinators and is left to whoever
// can ask them.
func Judge(in Input) []Verdict {
	j := judge{in}
	waiting := j.waiting()
	return []Verdict{
		verdict("I1", "no pool is over-allocated by growth", j.overAllocated(), nil),
		verdict("I2", "charges are the sums of the reservations; ports, minors and ids are unique", slices.Concat(j.charges(), j.numbers()), nil),
		j.acknowledged(waiting),
		verdict("I4", "at most one Primary per volume, unless two were allowed", j.primaries(), waiting),
		verdict("I5", "nothing is formed that was formed before", j.forming(), waiting),
		j.created(waiting),
		verdict("I7", "leftovers go", j.leftovers(), waiting),
		verdict("I9", "revisions that agents took never decrease", j.revisions(), waiting),
		j.secrets(),
	}
}

type judge struct{ in Input }

func verdict(id, says string, wrong, unknown []string) Verdict {
	v := Verdict{ID: id, Says: says, Status: model.True}
	switch {
	case len(wrong) > 0:
		v.Status, v.Findings = model.False, wrong
	case len(unknown) > 0:
		v.Status, v.Findings = model.Unknown, unknown
	}
	slices.Sort(v.Findings)
	return v
}

// sofar is a verdict that, when nothing is wrong, says how much of the promise was looked at.
func (v Verdict) sofar(format string, args ...any) Verdict {
	if v.Status == model.True {
		v.Findings = []string{fmt.Sprintf(format, args...)}
	}
	return v
}

// waiting lists the nodes of which nothing is known.
func (j judge) waiting() []string {
	var out []string
	for _, n := range j.in.Nodes {
		if why := compare.Waiting(j.in.Cluster, n); why != "" {
			out = append(out, "node "+n.Name+": "+why)
		}
	}
	return out
}

// overAllocated lists pools that hold more than fits. It need not be by growth: a limit
// may have fallen. It is told either way, for nothing can grow there.
func (j judge) overAllocated() []string {
	var out []string
	for _, p := range j.in.Pools {
		if limit := p.Limit(); p.Charged > limit && !p.Missing {
			out = append(out, fmt.Sprintf("%s/%s: %d bytes are reserved, the limit is %d: nothing can grow there", p.Pool.Node, placeName(p), p.Charged, limit))
		}
	}
	return out
}

func placeName(p Pool) string {
	if p.ThinPoolName != "" {
		return p.VGName + "/" + p.ThinPoolName
	}
	return p.VGName
}

func (j judge) charges() []string {
	sums := map[model.PoolID]int64{}
	for _, r := range j.in.Reservations {
		sums[r.Pool] += r.Charge()
	}
	var out []string
	for _, p := range j.in.Pools {
		if sums[p.Pool] != p.Charged {
			out = append(out, fmt.Sprintf("%s: the ledger says %d bytes, its reservations are %d", p.Name, p.Charged, sums[p.Pool]))
		}
	}
	return out
}

func (j judge) numbers() []string {
	var out []string
	holders := map[string]string{}
	take := func(what, holder string) {
		if other, taken := holders[what]; taken && other != holder {
			out = append(out, fmt.Sprintf("%s belongs to %s and to %s", what, other, holder))
		}
		holders[what] = holder
	}
	for _, v := range j.in.Volumes {
		for _, r := range v.Replicas {
			take(fmt.Sprintf("id %d of volume %s", r.ID, v.Name), r.UID)
			if r.Node == "" {
				continue
			}
			take(fmt.Sprintf("volume %s on node %s", v.Name, r.Node), r.Name)
			if r.Port != 0 {
				take(fmt.Sprintf("port %d of node %s", r.Port, r.Node), r.Name)
			}
			for _, d := range r.Devices {
				take(fmt.Sprintf("minor %d of node %s", d.Minor, r.Node), fmt.Sprintf("%s device %d", r.Name, d.Number))
			}
		}
	}
	return out
}

// acknowledged looks for the volumes of LVM that are bound to what there is.
func (j judge) acknowledged(waiting []string) Verdict {
	bound := 0
	for _, r := range j.in.Reservations {
		if r.State == model.Bound && r.OwnerKind == model.OwnerReplica {
			bound++
		}
	}
	var out []string
	for _, d := range compare.Differences(j.in.Input) {
		if d.Kind == compare.MissingLV || d.Kind == compare.SmallerLV {
			out = append(out, fmt.Sprintf("%s on %s: %s", d.Object, d.Node, d.Says))
		}
	}
	return verdict("I3", "what was acknowledged is there after any fault with a surviving majority", out, waiting).
		sofar("%d LVs are there; what is in them was not compared: `rvol volume verify` does", bound)
}

// created looks whether everything that rvol may remove one day carries its tags.
func (j judge) created(waiting []string) Verdict {
	claimed := 0
	var out []string
	for _, r := range j.in.Reservations {
		i := slices.IndexFunc(j.in.Nodes, func(n compare.Node) bool { return n.Name == r.Pool.Node })
		if i < 0 || r.LVUUID == "" || r.OwnerKind == model.OwnerOrphan { // an orphan goes because a person names it
			continue
		}
		vg, _ := j.in.Nodes[i].Seen.VG(r.Pool.VG)
		for _, lv := range vg.LVs {
			if lv.UUID != r.LVUUID {
				continue
			}
			if claimed++; lv.Reservation != r.Name || lv.Cluster != j.in.Cluster.ID {
				out = append(out, fmt.Sprintf("%s/%s on %s is reserved for %s, and does not carry its tags: it is not removed with it", vg.Name, lv.Name, r.Pool.Node, r.Owner))
			}
		}
	}
	return verdict("I6", "nothing is deleted that rvol did not create", out, waiting).
		sofar("%d LVs that may be removed one day carry the tags of rvol; what was removed before cannot be seen", claimed)
}

func (j judge) primaries() []string {
	seen := map[string][]string{}
	for _, n := range j.in.Nodes {
		if n.Seen == nil {
			continue
		}
		for _, r := range n.Seen.Resources {
			if volume, ours := compare.VolumeOfResource(r.Name); ours && r.Role == drbd.Primary {
				seen[volume] = append(seen[volume], n.Name)
			}
		}
	}
	var out []string
	for _, v := range j.in.Volumes {
		two := v.Status != nil && v.Status.Datamesh.TwoPrimaries
		if nodes := seen[v.Name]; len(nodes) > 1 && !two || len(nodes) > 2 {
			slices.Sort(nodes)
			out = append(out, fmt.Sprintf("volume %s is Primary on %v", v.Name, nodes))
		}
	}
	return out
}

func (j judge) forming() []string {
	var out []string
	for _, v := range j.in.Volumes {
		if v.Status != nil && v.Status.Formed && v.Status.Formation != nil {
			out = append(out, "volume "+v.Name+" is formed, and is being formed")
		}
	}
	for _, d := range compare.Differences(j.in.Input) {
		if d.Kind == compare.Formed && !j.bootstrapping(d.Volume) {
			out = append(out, fmt.Sprintf("%s on %s: %s", d.Object, d.Node, d.Says))
		}
	}
	return out
}

// bootstrapping says that a volume's first data generation was granted, and that it is not
// committed yet that there is one. A state that was restored grants nothing.
func (j judge) bootstrapping(volume string) bool {
	return !j.in.Cluster.Reconciling && slices.ContainsFunc(j.in.Volumes, func(v compare.Volume) bool {
		if v.Name != volume || v.Status == nil || v.Status.Formation == nil {
			return false
		}
		s := v.Status.Formation.Step(formation.BootstrapData)
		return s != nil && s.Status == model.StepActive
	})
}

// leftovers lists what nobody knows and what is on its way out.
func (j judge) leftovers() []string {
	var out []string
	for _, d := range compare.Differences(j.in.Input) {
		switch d.Kind {
		case compare.UnknownLV, compare.UnknownResource, compare.StaleFile:
			if j.kept(d) {
				continue
			}
			out = append(out, fmt.Sprintf("%s on %s: %s", d.Object, d.Node, d.Says))
		default:
		}
	}
	for _, r := range j.in.Reservations {
		if r.State == model.Releasing {
			out = append(out, fmt.Sprintf("%s on %s: its removal is not proven yet", r.LV, r.Pool.Node))
		}
	}
	return out
}

// kept says that somebody wants an orphan to stay.
func (j judge) kept(d compare.Difference) bool {
	return slices.ContainsFunc(j.in.Reservations, func(r *model.Reservation) bool {
		volume, _ := compare.VolumeOfLV(r.LV)
		return r.Kept && r.Pool.Node == d.Node && volume == d.Volume
	})
}

func (j judge) revisions() []string {
	var out []string
	for _, n := range j.in.Nodes {
		if n.Seen == nil {
			continue
		}
		switch a := n.Seen.Accepted; {
		case a.Incarnation > j.in.Cluster.Incarnation:
			out = append(out, fmt.Sprintf("node %s took an order of incarnation %d, the state is in %d", n.Name, a.Incarnation, j.in.Cluster.Incarnation))
		case a.Incarnation == j.in.Cluster.Incarnation && a.Index > j.in.Index:
			out = append(out, fmt.Sprintf("node %s took an order of index %d, the state is at %d", n.Name, a.Index, j.in.Index))
		}
	}
	for _, d := range compare.Differences(j.in.Input) {
		if d.Kind == compare.Ahead {
			out = append(out, fmt.Sprintf("%s on %s %s", d.Object, d.Node, d.Says))
		}
	}
	return out
}

func (j judge) secrets() Verdict {
	return verdict("I10", "no secret is where it does not belong", j.in.Leaks, nil).
		sofar("looked for in %d events of this coordinator; logs, argv and files of machines were not searched", j.in.Searched)
}
