package control

import (
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// targetOf is what a volume becomes with a configuration, or why it cannot.
func targetOf(v state.View, vol *model.Volume, vs *model.VolumeStatus, cfg *model.Configuration, generation int64) (transition.Target, error) {
	to := transition.Target{Configuration: cfg, Generation: generation, Holds: map[string]bool{}, Misplaced: map[int]bool{}}
	var err error
	if to.Layout, err = LayoutFor(vs, cfg); err != nil {
		return to, err
	}
	ps, ok := state.Get[*model.PoolStatus](v, cfg.Pool)
	if !ok {
		return to, fmt.Errorf("%w: pool %s is not there", model.ErrBusy, cfg.Pool)
	}
	for _, n := range ps.EligibleNodes {
		to.Holds[n.Node] = slices.ContainsFunc(n.LVGs, func(l model.EligibleLVG) bool { return l.Ready && !l.Unschedulable })
	}
	for r := range state.Under[*model.Replica](v, vol.Name+"/") {
		to.Misplaced[r.ID] = r.Node != "" && !eligibleFor(ps, r)
	}
	return to, nil
}

// LayoutFor is the layout of a formed volume with another configuration, or why it cannot
// have that: all its replicas stay with their major of DRBD, and with their networks.
func LayoutFor(vs *model.VolumeStatus, cfg *model.Configuration) (layout.Layout, error) {
	if now := vs.Configuration; now != nil && !slices.Equal(now.SystemNetworks, cfg.SystemNetworks) {
		return layout.Layout{}, fmt.Errorf("%w: it is on networks %v, not %v: those of a volume do not change", model.ErrInvalid, now.SystemNetworks, cfg.SystemNetworks)
	}
	if vs.DRBD == "8.4" {
		l, err := layout.NewDRBD84(cfg.FTT, cfg.GMDR)
		if err != nil {
			return l, fmt.Errorf("%w: %w", model.ErrInvalid, err)
		}
		return l, nil
	}
	return layout.New(cfg.FTT, cfg.GMDR)
}

// Cancel goes back from a transition that is under way: the only one, or that of a plan.
func Cancel(w World, b *state.Build, vol *model.Volume, plan, why string) error {
	vs, ok := state.Get[*model.VolumeStatus](w.State, vol.Name)
	if !ok || len(vs.Transitions) == 0 {
		return fmt.Errorf("%w: nothing is under way", model.ErrBusy)
	}
	i, several := -1, []string{}
	for k := range vs.Transitions {
		if t := &vs.Transitions[k]; plan == "" || t.Plan == plan || strings.HasPrefix(t.Plan, plan+"/") {
			i, several = k, append(several, t.Plan)
		}
	}
	switch {
	case i < 0:
		return fmt.Errorf("%w: no %s is under way", model.ErrBusy, plan)
	case len(several) > 1:
		return fmt.Errorf("%w: several are under way, say which: --plan %s", model.ErrInvalid, strings.Join(several, " or --plan "))
	}
	var to transition.Target
	if t := &vs.Transitions[i]; t.Was != nil {
		var err error
		if to, err = targetOf(w.State, vol, vs, t.Was, t.WasGeneration); err != nil {
			return err
		}
	}
	return Change(w, b, vol, func(in transition.Input) (transition.Outcome, error) { return transition.Cancel(in, i, to, why) })
}

// ChangeBacking begins to put a copy on another volume group of its node, with what it needs
// there reserved.
func ChangeBacking(w World, b *state.Build, vol *model.Volume, id int, at model.ReplicaPlace) error {
	return changeBacking(w, b, vol, rebase{id: id, at: at})
}

// rebase is a copy that is to be put on another volume group of its node.
type rebase struct {
	id    int
	at    model.ReplicaPlace
	cause repair.Cause // empty: somebody asked for it
}

func changeBacking(w World, b *state.Build, vol *model.Volume, to rebase) error {
	id, at := to.id, to.at
	r, ok := state.Get[*model.Replica](w.State, model.ReplicaName(vol.Name, id))
	if !ok {
		return fmt.Errorf("%w: it has no replica %d", model.ErrInvalid, id)
	}
	err := Change(w, b, vol, func(in transition.Input) (transition.Outcome, error) {
		out, err := transition.ChangeBacking(in, id, at)
		return out.ForRepair(string(to.cause)), err
	})
	if err != nil {
		return err
	}
	vs, _ := state.Get[*model.VolumeStatus](w.State, vol.Name)
	lvg, pool, capacity, err := poolOf(w.State, at.Node, at.VG, at.ThinPool)
	switch {
	case err != nil:
		return err
	case lvg.Unschedulable:
		return fmt.Errorf("%w: LVG %s is cordoned: nothing may grow there", model.ErrNoSpace, lvg.Name)
	}
	b.Expect(lvg.Key(), lvg.Revision)
	for _, d := range vol.Devices {
		res := &model.Reservation{
			OwnerKind: model.OwnerReplica, Owner: r.Name, Device: d.Number, Pool: pool, VGName: at.VG, ThinPool: at.ThinPool,
			LV: model.LVName(vol.Name, d.Number, id), State: model.Reserved,
			Granted: BackingBytes(d.Size, vs.DRBD, capacity.ExtentSize),
		}
		res.Name, res.CreatedAt = strings.ToLower(w.Fresh()), w.Now
		b.Put(res)
	}
	return nil
}
