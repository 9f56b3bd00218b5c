package admin

import (
	"context"
	"errors"

	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Resize reserves what every copy of a volume needs to grow, or nothing; the volume has
// its new size when all have grown.
func (s *volumes) Resize(ctx context.Context, r *adminv1.ResizeVolumeRequest) (*adminv1.Volume, error) {
	key := model.Key{Kind: model.KindVolume, Name: r.GetName()}
	var to []model.VolumeDevice
	for _, d := range r.GetDevices() {
		to = append(to, model.VolumeDevice{Number: int(d.GetNumber()), Size: d.GetSize()})
	}
	if (len(to) == 0) != r.GetAbort() {
		return nil, door.Invalid(key, "give either new sizes or that the resize is to be given up")
	}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		vol, err := find[*model.Volume](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if r.GetAbort() {
			err := control.AbandonResize(v, b, vol, "asked for by "+door.From(ctx).Actor(), s.Clock())
			return changing(b), about(key, err)
		}
		grows, err := control.Resize(control.World{State: v, Inventory: s.Inventory.View(), Now: s.Clock()}, b, vol, to)
		if !grows {
			return nil, about(key, err)
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// changing is the build if it changes something.
func changing(b *state.Build) *state.Build {
	if b.Empty() {
		return nil
	}
	return b
}

// about says of an error of a decision which object it is about, and what kind it is.
func about(key model.Key, err error) error {
	for _, kind := range []error{model.ErrInvalid, model.ErrBusy, model.ErrNoSpace} {
		if errors.Is(err, kind) {
			return door.Refuse(kind, key, withoutKind(err, kind), "")
		}
	}
	return err
}

func withoutKind(err, kind error) string {
	text, prefix := err.Error(), kind.Error()+": "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}
