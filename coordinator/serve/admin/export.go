package admin

import (
	"context"
	"slices"
	"strings"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// exported are the kinds that people edit, in an order in which each finds what it needs.
var exported = []string{"node", "lvg", "pool", "class", "quota", "volume"}

// Export returns objects in an order in which Apply takes them. Pools made from classes
// come again with their class, and what is being deleted is left out.
func (s *objects) Export(_ context.Context, r *adminv1.ExportRequest) (*adminv1.ExportResponse, error) {
	for _, k := range r.GetKinds() {
		if !slices.Contains(exported, k) {
			return nil, door.Refuse(model.ErrInvalid, model.Key{}, "kind "+k+" is not one that people edit", "name "+strings.Join(exported, ", "))
		}
	}
	v := s.Store.View()
	var all []*adminv1.Spec
	for n := range state.All[*model.Node](v) {
		all = append(all, &adminv1.Spec{Name: n.Name, Object: &adminv1.Spec_Node{Node: nodeSpec(n)}})
	}
	for l := range state.All[*model.LVG](v) {
		all = append(all, &adminv1.Spec{Name: l.Name, Object: &adminv1.Spec_Lvg{Lvg: lvgSpec(l)}})
	}
	for p := range state.All[*model.Pool](v) {
		if !p.Generated {
			all = append(all, &adminv1.Spec{Name: p.Name, Object: &adminv1.Spec_Pool{Pool: poolSpec(p)}})
		}
	}
	for c := range state.All[*model.Class](v) {
		if !c.Deleting() {
			all = append(all, &adminv1.Spec{Name: c.Name, Object: &adminv1.Spec_Class{Class: classSpec(c)}})
		}
	}
	for q := range state.All[*model.Quota](v) {
		all = append(all, &adminv1.Spec{Name: q.Name, Object: &adminv1.Spec_Quota{Quota: quotaSpec(q)}})
	}
	for vol := range state.All[*model.Volume](v) {
		if !vol.Deleting() {
			all = append(all, &adminv1.Spec{Name: vol.Name, Object: &adminv1.Spec_Volume{Volume: volumeSpec(vol)}})
		}
	}
	return chosen(all, r)
}

// chosen are the objects that a request asks for; a name that is not there is an error.
func chosen(all []*adminv1.Spec, r *adminv1.ExportRequest) (*adminv1.ExportResponse, error) {
	out, there := &adminv1.ExportResponse{}, map[string]bool{}
	for _, o := range all {
		kind := kindOf(o)
		key := kind + "/" + o.GetName()
		there[key] = true
		whole := len(r.GetKinds())+len(r.GetNames()) == 0
		if whole || slices.Contains(r.GetKinds(), kind) || slices.Contains(r.GetNames(), key) {
			out.Objects = append(out.Objects, o)
		}
	}
	for _, name := range r.GetNames() {
		if !there[name] {
			kind, name, _ := strings.Cut(name, "/")
			return nil, door.NotFound(model.Key{Kind: model.Kind(kind), Name: name})
		}
	}
	return out, nil
}

// kindOf is the kind of a spec, as in keys.
func kindOf(o *adminv1.Spec) string {
	r := o.ProtoReflect()
	return string(r.WhichOneof(r.Descriptor().Oneofs().ByName("object")).Name())
}
