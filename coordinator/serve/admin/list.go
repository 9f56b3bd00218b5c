package admin

import (
	"fmt"
	"slices"

	"rvol/coordinator/model"
	"rvol/coordinator/model/selector"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// pick returns the objects of one kind that a request selects by name and label, sorted
// by name.
func pick[T model.Object](v state.View, q *adminv1.ListRequest) ([]T, error) {
	s, err := selector.Parse(q.GetSelector())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	var out []T
	for o := range state.All[T](v) {
		named := len(q.GetNames()) == 0 || slices.Contains(q.GetNames(), o.Info().Name)
		if named && s.Matches(o.Info().Labels) {
			out = append(out, o)
		}
	}
	return out, nil
}

// on says whether something of a volume on a node is what the request asks for.
func on(q *adminv1.ListRequest, node, volume string) bool {
	return (q.GetNode() == "" || q.GetNode() == node) && (q.GetVolume() == "" || q.GetVolume() == volume)
}

// find returns the object called name, or says that there is none.
func find[T model.Object](v state.View, name string) (T, error) {
	o, ok := state.Get[T](v, name)
	if !ok {
		return o, door.NotFound(model.Key{Kind: model.KindOf[T](), Name: name})
	}
	return o, nil
}
