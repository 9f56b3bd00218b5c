package admin

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

func planNode(v state.View, name string, r *adminv1.NodeSpec, given []string) (plan, error) {
	old, ok := state.Get[*model.Node](v, name)
	if !ok {
		return plan{}, door.Refuse(model.ErrNotFound, model.Key{Kind: model.KindNode, Name: name}, "not found: a node joins by itself",
			"let it join first, with a token: see `rvol token create --help`")
	}
	before := nodeSpec(old)
	wanted := proto.CloneOf(before)
	if err := overlay(old.Key(), wanted, r, given); err != nil {
		return plan{}, err
	}
	n := model.Clone(old)
	n.Labels, n.Properties, n.Zone, n.Unschedulable = wanted.GetLabels(), wanted.GetProperties(), wanted.GetZone(), wanted.GetUnschedulable()
	if n.Zone != "" {
		if err := checkZones(n.Key(), []string{n.Zone}); err != nil {
			return plan{}, err
		}
	}
	if err := checkNotes(n); err != nil {
		return plan{}, err
	}
	diff := differences(before, nodeSpec(n))
	if policyChanged(diff) {
		n.Generation++
	}
	return plan{object: n, differences: diff}, nil
}

// checkNotes checks labels and properties.
func checkNotes(o model.Object) error {
	if err := invalid(o.Key(), model.CheckLabels(o.Info().Labels)); err != nil {
		return err
	}
	return checkProperties(o.Key(), o.Info().Properties)
}

func planLVG(v state.View, seen inventory.View, name string, r *adminv1.LVGSpec, given []string) (plan, error) {
	old, ok := state.Get[*model.LVG](v, name)
	if !ok {
		return planOffer(v, seen, name, r)
	}
	before := lvgSpec(old)
	wanted := proto.CloneOf(before)
	if err := overlay(old.Key(), wanted, r, given); err != nil {
		return plan{}, err
	}
	if wanted.GetThickOff() != before.GetThickOff() {
		return plan{}, door.Refuse(model.ErrInvalid, old.Key(), "thick_off never changes: space may be counted on", "take the LVG back and offer it anew")
	}
	l := model.Clone(old)
	added, err := addedPools(l, wanted.GetThinPools())
	if err != nil {
		return plan{}, err
	}
	if len(added) > 0 {
		vg, err := reportedGroup(seen, l.Node, l.VG)
		if err != nil {
			return plan{}, err
		}
		if err := addThinPools(v, l, vg, added); err != nil {
			return plan{}, err
		}
	}
	if err := setLVG(l, wanted); err != nil {
		return plan{}, err
	}
	diff := differences(before, lvgSpec(l))
	if policyChanged(diff) {
		l.Generation++
	}
	return plan{object: l, differences: diff}, nil
}

// addedPools names the thin pools that an LVG does not offer yet; none may be left out.
func addedPools(l *model.LVG, wanted []string) ([]string, error) {
	for _, tp := range l.ThinPools {
		if !slices.Contains(wanted, tp.Name) {
			return nil, door.Refuse(model.ErrInvalid, l.Key(), "thin_pools: "+tp.Name+" is missing, and is not taken back in this way", "take the LVG back and offer it anew")
		}
	}
	var added []string
	for _, name := range wanted {
		if _, ok := l.Pool(name); !ok {
			added = append(added, name)
		}
	}
	return added, nil
}

// setLVG sets what may be changed of an offer at any time.
func setLVG(l *model.LVG, r *adminv1.LVGSpec) error {
	l.Labels, l.Properties, l.Unschedulable = r.GetLabels(), r.GetProperties(), r.GetUnschedulable()
	if err := checkNotes(l); err != nil {
		return err
	}
	return setPercents(l, &adminv1.SetLVGRequest{
		OverProvisioningPercent: &r.OverProvisioningPercent, StopDataPercent: &r.StopDataPercent, StopMetadataPercent: &r.StopMetadataPercent,
	})
}

// planOffer makes an LVG of a volume group that its node reports.
func planOffer(v state.View, seen inventory.View, name string, r *adminv1.LVGSpec) (plan, error) {
	key := model.Key{Kind: model.KindLVG, Name: name}
	node, vg, ok := strings.Cut(name, "/")
	if !ok {
		return plan{}, door.Invalid(key, "want NODE/VG as its name")
	}
	offer := &adminv1.CreateLVGRequest{Node: node, Vg: vg, ThinPools: r.GetThinPools(), Labels: r.GetLabels(), ThickOff: r.GetThickOff()}
	if err := checkOffer(key, offer); err != nil {
		return plan{}, err
	}
	l, err := offered(v, seen, offer)
	if err != nil {
		return plan{}, err
	}
	with := proto.CloneOf(r)
	for _, p := range []struct {
		to       *int32
		whenNone int
	}{
		{&with.OverProvisioningPercent, l.OverProvisioningPercent}, {&with.StopDataPercent, l.StopDataPercent}, {&with.StopMetadataPercent, l.StopMetadataPercent},
	} {
		if *p.to == 0 {
			*p.to = int32(p.whenNone)
		}
	}
	if err := setLVG(l, with); err != nil {
		return plan{}, err
	}
	return plan{object: l, new: true, differences: differences(nil, lvgSpec(l))}, nil
}
