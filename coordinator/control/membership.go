package control

import (
	"fmt"
	"strings"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Change begins a transition of a formed volume, which the Transition controller then
// carries out. start is one of package transition's functions that begin one:
//
//	Change(w, b, vol, func(in transition.Input) (transition.Outcome, error) { return transition.AddAccess(in, node) })
func Change(w World, b *state.Build, vol *model.Volume, start func(transition.Input) (transition.Outcome, error)) error {
	vs, ok := state.Get[*model.VolumeStatus](w.State, vol.Name)
	if !ok {
		return fmt.Errorf("%w: it is not formed yet", model.ErrBusy)
	}
	in := TransitionInput(w.State, w.Inventory, vol, vs, w.Now)
	for range model.MaxDiskful { // no change adds more replicas
		in.UIDs = append(in.UIDs, strings.ToLower(w.Fresh()))
	}
	out, err := start(in)
	if err != nil {
		return err
	}
	if out.Changed() {
		carry(b, vol, out)
	}
	return nil
}
