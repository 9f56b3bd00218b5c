package admin

import (
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
)

// setClass gives a volume a class, whose configuration it then takes, or once more its own,
// whose change was cancelled. What it could never have is refused.
func setClass(v state.View, vol *model.Volume, name string, b *state.Build, now time.Time) error {
	if name == "" {
		return nil
	}
	class, err := find[*model.Class](v, name)
	if err != nil {
		return err
	}
	if class.Deleting() {
		return door.Refuse(model.ErrBusy, class.Key(), "it is being deleted", "use another class")
	}
	vs, ok := state.Get[*model.VolumeStatus](v, vol.Name)
	if ok && vs.Configuration != nil {
		if !vs.Formed {
			return door.Refuse(model.ErrBusy, vol.Key(), "it is not formed yet", "wait until it is ready")
		}
		if cs, ready := state.Get[*model.ClassStatus](v, name); ready && cs.Configuration != nil {
			if _, err := control.LayoutFor(vs, cs.Configuration); err != nil {
				return about(vol.Key(), err)
			}
		}
		next := model.Clone(vs)
		next.ConfigurationGeneration, next.Declined = 0, 0
		next.Conditions = next.Conditions.With(model.Condition{
			Type: storageclass.ConfigurationReady, Status: model.False, Reason: "ConfigurationRolloutInProgress", Message: "it is to take class " + name,
		}, now)
		b.Put(next)
	}
	vol.Class = name
	b.Expect(class.Key(), class.Revision)
	return nil
}
