package admin

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"google.golang.org/protobuf/proto"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Set changes a class, except for what never changes.
func (s *classes) Set(ctx context.Context, r *adminv1.SetClassRequest) (*adminv1.Class, error) {
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Class](v, r.GetName())
		if err != nil {
			return nil, err
		}
		spec, given, err := setRequest(v, old, r)
		if err != nil {
			return nil, err
		}
		c, diff, err := changedClass(v, old, spec, given)
		if err != nil || len(diff) == 0 {
			return nil, err
		}
		return b.Because(causeOf("class "+c.Name, diff)).Put(c), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// setRequest reads a request to set as what people would have written into a file.
func setRequest(v state.View, old *model.Class, r *adminv1.SetClassRequest) (*adminv1.ClassSpec, []string, error) {
	spec := &adminv1.ClassSpec{}
	given := copySame(spec, r)
	if len(r.GetDrbd()) > 0 {
		spec.Drbd = merged(old.DRBD, r.GetDrbd())
	}
	if r.GetLabels() != nil {
		labels, err := relabel(old.Labels, r.GetLabels())
		if err != nil {
			return nil, nil, invalid(old.Key(), err)
		}
		spec.Labels, given = labels, append(given, "labels")
	}
	if r.GetOwnStorage() {
		if old.Pool == "" {
			return nil, nil, door.Refuse(model.ErrInvalid, old.Key(), "it has storage of its own already", "")
		}
		p, err := find[*model.Pool](v, old.Pool)
		if err != nil {
			return nil, nil, err
		}
		spec.Storage, given = storageOf(&p.Storage), append(given, "storage")
	}
	return spec, given, nil
}

// changedClass is a class with the given fields changed, and what that changes.
func changedClass(v state.View, old *model.Class, spec *adminv1.ClassSpec, given []string) (*model.Class, []*adminv1.Difference, error) {
	if old.Deleting() {
		return nil, nil, door.Refuse(model.ErrBusy, old.Key(), "it is being deleted", "")
	}
	wanted, err := wantedClass(v, old, spec, given)
	if err != nil {
		return nil, nil, err
	}
	c, err := newClass(old.Name, wanted)
	if err != nil {
		return nil, nil, err
	}
	next := model.Clone(old)
	kept := next.Meta
	kept.Labels, kept.Properties = c.Labels, c.Properties
	*next = *c
	next.Meta = kept
	diff := differences(classSpec(old), classSpec(next))
	if policyChanged(diff) {
		next.Generation++
	}
	return next, diff, nil
}

// wantedClass is what people write of a class, with the given fields over what it is.
// Storage given to a class with a named pool takes that pool's place.
func wantedClass(v state.View, old *model.Class, spec *adminv1.ClassSpec, given []string) (*adminv1.ClassSpec, error) {
	is, base := set(given), classSpec(old)
	if is["storage"] && !is["pool"] && old.Pool != "" {
		var err error
		if base, err = owning(v, old); err != nil {
			return nil, err
		}
	}
	wanted := proto.CloneOf(base)
	if err := overlay(old.Key(), wanted, spec, given); err != nil {
		return nil, err
	}
	if wanted.GetReplication() != "" && !is["ftt"] && !is["gmdr"] {
		wanted.Ftt, wanted.Gmdr = 0, 0
	}
	return wanted, sameForGood(old, base, wanted)
}

// policyChanged says that more than labels and properties differ: volumes have to follow.
func policyChanged(diff []*adminv1.Difference) bool {
	for _, d := range diff {
		if d.GetField() != "labels" && d.GetField() != "properties" {
			return true
		}
	}
	return false
}

// owning is a class with a named pool as it would be with that pool's storage as its own.
func owning(v state.View, c *model.Class) (*adminv1.ClassSpec, error) {
	p, err := find[*model.Pool](v, c.Pool)
	if err != nil {
		return nil, err
	}
	own := model.Clone(c)
	own.Pool, own.Storage = "", &p.Storage
	own.Zones, own.NodeSelector, own.SystemNetworks, own.NotReadyGrace = p.Zones, p.NodeSelector, p.SystemNetworks, p.NotReadyGrace
	return classSpec(own), nil
}

// forGood are the fields by which replicas were placed.
var forGood = []string{
	"topology", "volume_access", "pool", "storage", "zones", "node_selector", "system_networks", "not_ready_grace",
}

// sameForGood refuses to change what never changes, naming the field.
func sameForGood(old *model.Class, before, after *adminv1.ClassSpec) error {
	for _, f := range forGood {
		if was, asked := textOf(before, f), textOf(after, f); was != asked {
			return door.Refuse(model.ErrInvalid, old.Key(),
				fmt.Sprintf("%s never changes, for replicas were placed by it: it is %s, asked was %s", f, orNone(was), orNone(asked)),
				"make another class, and volumes in it")
		}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// merged is old with changes over it; an empty value takes a key away.
func merged(old, changes map[string]string) map[string]string {
	out := maps.Clone(old)
	for k, v := range changes {
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
		if v == "" {
			delete(out, k)
		}
	}
	return out
}

// Delete removes a class that no volume uses; the pool made from it goes with it. It is
// marked first, so that no volume can be made from it while it goes.
func (s *classes) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		c, err := find[*model.Class](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if users := volumesOf(v, c.Name); len(users) > 0 {
			return nil, door.Refuse(model.ErrBusy, c.Key(), "used by "+strings.Join(users, ", "), "delete its volumes first")
		}
		if c.Deleting() {
			return nil, nil
		}
		c = model.Clone(c)
		c.DeletingSince = s.Clock()
		return b.Because("delete class " + c.Name).Put(c), nil
	})
	if err != nil {
		return nil, err
	}
	done := &adminv1.Done{Revision: rev}
	err = s.until(ctx, func() (bool, error) {
		v := s.Store.View()
		if _, ok := state.Get[*model.Class](v, r.GetName()); !ok {
			return true, nil
		}
		users := volumesOf(v, r.GetName())
		if len(users) > 0 {
			done.Message = "it goes with its last volume: " + strings.Join(users, ", ")
		}
		return len(users) > 0, nil
	})
	return done, err
}

// maxUsers is how many names a refusal lists.
const maxUsers = 20

// volumesOf names the volumes of a class, for a refusal.
func volumesOf(v state.View, class string) []string {
	var out []string
	more := 0
	for vol := range v.VolumesOfClass(class) {
		if len(out) == maxUsers {
			more++
			continue
		}
		out = append(out, "volume "+vol.Name)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return out
}
