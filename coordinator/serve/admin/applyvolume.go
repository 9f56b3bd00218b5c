package admin

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

func planVolume(v state.View, name string, r *adminv1.VolumeSpec, given []string, coming map[model.Key]bool) (plan, error) {
	if old, ok := state.Get[*model.Volume](v, name); ok {
		return planVolumeChange(v, old, r, given)
	}
	vol, err := newVolume(&adminv1.CreateVolumeRequest{
		Name: name, Class: r.GetClass(), Sizes: r.GetSizes(), AttachTo: r.GetAttachTo(), MaxAttachments: r.GetMaxAttachments(),
		Labels: r.GetLabels(), Properties: r.GetProperties(), Drbd: r.GetDrbd(),
	}, time.Now())
	if err != nil {
		return plan{}, err
	}
	vol.Stopped = r.GetStopped()
	out := plan{object: vol, new: true, differences: differences(nil, volumeSpec(vol))}
	if coming[model.Key{Kind: model.KindClass, Name: vol.Class}] {
		return out, nil
	}
	class, err := mayMakeVolume(v, vol)
	out.holds = []model.Object{class}
	return out, err
}

// volumeForGood are the fields of a volume that a file does not change, and what does.
var volumeForGood = []struct{ field, next string }{
	{"class", "make another volume in that class"},
	{"sizes", "see `rvol volume resize --help`"},
	{"attach_to", "it only guides the first placement: use `rvol volume attach`"},
	{"drbd", "options of a volume are given when it is made: change those of its class"},
}

func planVolumeChange(v state.View, old *model.Volume, r *adminv1.VolumeSpec, given []string) (plan, error) {
	if old.Deleting() {
		return plan{}, door.Refuse(model.ErrBusy, old.Key(), "it is being deleted", "")
	}
	before := volumeSpec(old)
	wanted := proto.CloneOf(before)
	if err := overlay(old.Key(), wanted, r, given); err != nil {
		return plan{}, err
	}
	for i, n := range wanted.GetSizes() {
		if rounded, err := model.CheckSize(n); err == nil {
			wanted.Sizes[i] = rounded
		}
	}
	for _, f := range volumeForGood {
		if was, asked := textOf(before, f.field), textOf(wanted, f.field); was != asked {
			return plan{}, door.Refuse(model.ErrInvalid, old.Key(),
				fmt.Sprintf("%s is not changed by a file: it is %s, asked was %s", f.field, orNone(was), orNone(asked)), f.next)
		}
	}
	vol := model.Clone(old)
	vol.Labels, vol.Properties = wanted.GetLabels(), wanted.GetProperties()
	if err := checkNotes(vol); err != nil {
		return plan{}, err
	}
	use := &adminv1.SetVolumeRequest{}
	if wanted.GetStopped() != before.GetStopped() {
		use.Stopped = &wanted.Stopped
	}
	if wanted.GetMaxAttachments() != before.GetMaxAttachments() {
		use.MaxAttachments = &wanted.MaxAttachments
	}
	if err := setUse(v, vol, use); err != nil {
		return plan{}, err
	}
	diff := differences(before, volumeSpec(vol))
	if policyChanged(diff) {
		vol.Generation++
	}
	return plan{object: vol, differences: diff}, nil
}
