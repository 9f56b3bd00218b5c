package steps_test

import (
	"fmt"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// change is one plan carried out on one layout.
type change struct {
	name  string
	old   bool                                               // on DRBD 8.4
	first func(transition.Input) (transition.Outcome, error) // done before, and not looked at
	given layout.Layout                                      // as which the volume is formed
	to    *layout.Layout                                     // the one that it is to have; nil: no other
	class layout.Layout                                      // of its class while and after the change
	spare int                                                // nodes without a replica
	// grows: DRBD copies the new part, and calls the copies Inconsistent until it has, as
	// recorded (9.3.3/978, 8.4.11/265). While that lasts only the source can be used, and
	// nothing is taken away.
	grows bool
	lost  string // a node that is off, and fenced, from before the change on: the volume bears one less
	away  bool   // replica 1 has room reserved in its node's other volume group
	less  int    // by how much less FTT is while it lasts: the disk that is changed is no copy
	start func(transition.Input) (transition.Outcome, error)
}

// change gives the volume another layout.
func (c change) change(in transition.Input) (transition.Outcome, error) {
	cfg := *in.Status.Configuration
	holds := map[string]bool{}
	for i := range c.given.Replicas() + c.spare {
		holds[fmt.Sprintf("n%d", i)] = true
	}
	return transition.ChangeLayout(in, transition.Target{Configuration: &cfg, Layout: *c.to, Holds: holds})
}

func class(ftt, gmdr int) layout.Layout { return layout.Formula(ftt, gmdr) }

// with is a layout with other numbers of replicas.
func with(l layout.Layout, diskful, tieBreakers int) layout.Layout {
	l.Diskful, l.TieBreakers = diskful, tieBreakers
	l.Quorum = diskful/2 + 1
	return l
}

func changes() []change {
	anywhere := model.ReplicaPlace{}
	return []change{
		{name: "add a copy to two with a tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "add a copy to two that both must have all", given: class(0, 1), class: class(0, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "add a copy to three", given: class(1, 1), class: class(1, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "add a copy to a single one", given: class(0, 0), class: class(0, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "remove the third copy beside a tie-breaker", given: with(class(1, 0), 3, 1), class: class(1, 0), spare: 0, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveDiskful(in, 1)
		}},
		{name: "remove a fourth copy", given: with(class(1, 1), 4, 0), class: class(1, 1), spare: 0, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveDiskful(in, 3)
		}},
		{name: "replace one of two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 1, anywhere, false)
		}},
		{name: "replace one of three copies", given: class(1, 1), class: class(1, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 2, anywhere, false)
		}},
		{name: "add a tie-breaker to two copies", given: with(class(0, 1), 2, 0), class: class(0, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddTieBreaker(in, anywhere)
		}},
		{name: "remove the tie-breaker of three copies", given: with(class(1, 1), 3, 1), class: class(1, 1), spare: 0, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveTieBreaker(in, 3)
		}},
		{name: "add access to two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n3")
		}},
		{name: "remove access from three copies", given: class(1, 1), class: class(1, 1), spare: 1, first: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n3")
		}, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveAccess(in, 3)
		}},
		{name: "a third copy for the tie-breaker's place", given: class(1, 0), class: class(1, 0), to: new(class(1, 1))},
		{name: "a tie-breaker in a copy's place", given: class(1, 1), class: class(1, 1), to: new(class(1, 0))},
		{name: "from two copies that both must have all to three", given: class(0, 1), class: class(0, 1), to: new(class(1, 1)), spare: 1},
		{name: "from three copies to two that both must have all", given: class(1, 1), class: class(1, 1), to: new(class(0, 1))},
		{name: "from a single copy to two with a tie-breaker", given: class(0, 0), class: class(0, 0), to: new(class(1, 0)), spare: 2},
		{name: "access becomes a copy", given: class(1, 1), class: class(1, 1), spare: 1, first: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n3")
		}, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Retype(in, 3, model.Diskful, anywhere)
		}},
		{name: "put one of three copies on another volume group", given: class(1, 1), class: class(1, 1), less: 1, away: true, start: toOtherGroup},
		{name: "put one of two copies with a tie-breaker on another volume group", given: class(1, 0), class: class(1, 0), less: 1, away: true, start: toOtherGroup},
		{name: "put one of four copies where three would do on another volume group", given: with(class(1, 1), 4, 0), class: class(1, 1), away: true, start: toOtherGroup},
		{name: "give up one of three copies", given: class(1, 1), class: class(1, 1), lost: "n2", start: giveUp(2)},
		{name: "give up one of two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), lost: "n1", start: giveUp(1)},
		{name: "8.4: add a copy to a single one", old: true, given: class(0, 0), class: class(0, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "8.4: replace one of two copies", old: true, given: with(class(0, 1), 2, 0), class: class(0, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 1, anywhere, true)
		}},
		{name: "grow two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), grows: true, start: grow},
		{name: "grow three copies", given: class(1, 1), class: class(1, 1), grows: true, start: grow},
	}
}

// grow doubles the volume.
func grow(in transition.Input) (transition.Outcome, error) {
	return transition.StartResize(in, []model.VolumeDevice{{Size: 2 * size}}, func(usable int64, _ *model.Reservation) int64 {
		return drbd.BackingSize(usable, drbd.MaxPeers)
	})
}

// toOtherGroup puts the second copy on its node's other volume group.
func toOtherGroup(in transition.Input) (transition.Outcome, error) {
	return transition.ChangeBacking(in, 1, model.ReplicaPlace{Node: "n1", VG: "vg1"})
}

// giveUp removes a replica whose node is off.
func giveUp(id int) func(transition.Input) (transition.Outcome, error) {
	return func(in transition.Input) (transition.Outcome, error) { return transition.ForceRemove(in, id) }
}
