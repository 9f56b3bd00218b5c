package transition

import (
	"cmp"
	"fmt"
	"slices"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/model"
)

var changeLayoutV1 = plan{name: "change-layout/v1", kind: "ChangeLayout", steps: membership}

// A Target is what a volume is to become.
type Target struct {
	Configuration *model.Configuration
	Generation    int64
	Layout        layout.Layout
	Holds         map[string]bool // nodes that can hold a copy
	Misplaced     map[int]bool    // replicas that may not stay where they are
}

// ChangeLayout begins to give a volume other numbers of copies and tie-breakers. The
// configuration is the new one from the start; what it guarantees holds when the change is
// over, and until then the weaker of both.
func ChangeLayout(in Input, to Target) (Outcome, error) {
	if err := mayStart(in, false); err != nil {
		return Outcome{}, err
	}
	d, s := newDraft(in, 0), newScript(in)
	if err := s.converge(in, to, d); err != nil {
		return Outcome{}, err
	}
	title := fmt.Sprintf("change %s from %s to %s", in.Volume.Name, in.Layout.Short(), to.Layout.Short())
	cfg := *to.Configuration
	d.status.Configuration, d.status.ConfigurationGeneration, d.status.ConfigurationObserved = &cfg, to.Generation, to.Generation
	d.status.Declined = 0
	if len(s.steps) == 0 {
		return d.outcome(title + ": nothing moves"), nil
	}
	out := changeLayoutV1.begun(in, d, title, s)
	t := &d.status.Transitions[len(d.status.Transitions)-1]
	t.Was, t.WasGeneration = in.Status.Configuration, in.Status.ConfigurationGeneration
	return out, nil
}

// converge writes the steps from what there is to a target. What is added comes first, and
// tie-breakers before copies: they keep the volume in use when the number of copies is even.
// What goes goes last; quorum-minimum-redundancy is lowered before all, and raised after.
func (s *script) converge(in Input, to Target, d *draft) error {
	c := in.sort(to)
	least := in.Status.Datamesh.QuorumMinimumRedundancy
	if want := to.Layout.QuorumMinimumRedundancy; !s.old84 && least > want {
		s.redundancy(LowerRedundancy, want)
		least = want
	}
	if err := s.grow(in, c, d); err != nil {
		return err
	}
	for _, m := range c.down {
		s.lower(m.ID, model.TieBreaker)
	}
	for _, m := range append(c.goes, c.ties...) {
		s.remove(m.ID)
	}
	s.takeVotes()
	if want := to.Layout.QuorumMinimumRedundancy; !s.old84 && to.Layout.Diskful > 1 && max(1, least) < want {
		s.redundancy(RaiseRedundancy, want)
	}
	return nil
}

// census is what becomes of each replica.
type census struct {
	newTies   int
	newCopies int
	up        []Member // tie-breakers that become copies
	back      []Member // that were on their way, and become copies
	down      []Member // copies that become tie-breakers
	goes      []Member
	ties      []Member // tie-breakers that go
}

// sort says what becomes of each replica of the volume.
func (in Input) sort(to Target) census {
	c, copies, half := in.count(to)
	in.order(copies)
	c.newCopies = to.Layout.Diskful - len(copies)
	for c.newCopies < 0 {
		c.goes, copies, c.newCopies = append(c.goes, copies[0]), copies[1:], c.newCopies+1
	}
	slices.SortFunc(half, func(a, b Member) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, m := range half {
		if c.newCopies > 0 && !to.Misplaced[m.ID] {
			c.back, c.newCopies = append(c.back, m), c.newCopies-1
			continue
		}
		c.goes = append(c.goes, m)
	}
	in.tieBreak(to, &c)
	return c
}

// count sorts out the copies, whole and on their way, and the tie-breakers. What may not stay
// where it is goes.
func (in Input) count(to Target) (c census, copies, half []Member) {
	for _, m := range in.Members {
		whole := in.part(m.ID) == model.Diskful || m.Type == model.TieBreaker
		switch {
		case m.Deleting() || m.Type == model.Access:
		case whole && to.Misplaced[m.ID]:
			c.goes = append(c.goes, m)
		case m.Type == model.TieBreaker:
			c.ties = append(c.ties, m)
		case whole:
			copies = append(copies, m)
		default:
			half = append(half, m)
		}
	}
	return c, copies, half
}

// tieBreak says what becomes of tie-breakers, and which copies become some.
func (in Input) tieBreak(to Target, c *census) {
	c.newTies = to.Layout.TieBreakers - len(c.ties)
	keep := min(len(c.ties), to.Layout.TieBreakers)
	c.ties = c.ties[keep:]
	c.ties = slices.DeleteFunc(c.ties, func(m Member) bool {
		if c.newCopies == 0 || !to.Holds[m.Node] {
			return false
		}
		c.up, c.newCopies = append(c.up, m), c.newCopies-1
		return true
	})
	c.goes = slices.DeleteFunc(c.goes, func(m Member) bool {
		part := in.part(m.ID)
		if c.newTies <= 0 || to.Misplaced[m.ID] || part == "" || part == model.Access {
			return false
		}
		c.down, c.newTies = append(c.down, m), c.newTies-1
		return true
	})
}

// order puts copies first that are better missed: those that are not well, those nobody uses,
// those of zones with many, and of the rest the newest.
func (in Input) order(copies []Member) {
	zones := map[string]int{}
	for _, m := range copies {
		zones[m.Zone]++
	}
	slices.SortFunc(copies, func(a, b Member) int {
		return cmp.Or(
			-cmp.Compare(b01(illDisk(a) != ""), b01(illDisk(b) != "")),
			cmp.Compare(b01(a.InUse), b01(b.InUse)),
			-cmp.Compare(zones[a.Zone], zones[b.Zone]),
			-cmp.Compare(a.ID, b.ID),
		)
	})
}

// grow writes the steps of what is added.
func (s *script) grow(in Input, c census, d *draft) error {
	if s.old84 && len(c.goes) > 0 && c.newCopies > 0 && len(s.parts) >= 2 {
		return fmt.Errorf("%w: DRBD 8.4 connects two copies: `rvol replica move %s` puts them where they are to be, one after the other", model.ErrBusy, c.goes[0].Name)
	}
	for range max(0, c.newTies) {
		r, err := d.newReplica(in, model.TieBreaker, "")
		if err != nil {
			return err
		}
		s.place(r.ID, model.ReplicaPlace{})
		s.join(r.ID, model.TieBreaker)
	}
	for _, m := range c.back {
		s.gainDisk(m.ID)
	}
	for _, m := range c.up {
		s.raise(m.ID, model.ReplicaPlace{})
	}
	for range c.newCopies {
		r, err := d.newReplica(in, model.Diskful, "")
		if err != nil {
			return err
		}
		s.place(r.ID, model.ReplicaPlace{})
		s.gainDisk(r.ID)
	}
	return nil
}

// ChangingLayout is the transition that gives the volume another layout; nil: there is none.
func ChangingLayout(vs *model.VolumeStatus) *model.Transition {
	for i := range vs.Transitions {
		if vs.Transitions[i].Was != nil {
			return &vs.Transitions[i]
		}
	}
	return nil
}
