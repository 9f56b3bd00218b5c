package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
)

// A spec is what people edit of an object: one of the messages of apply.proto.
type spec = proto.Message

func nodeSpec(n *model.Node) *adminv1.NodeSpec {
	return &adminv1.NodeSpec{Labels: n.Labels, Properties: n.Properties, Zone: n.Zone, Unschedulable: n.Unschedulable}
}

func lvgSpec(l *model.LVG) *adminv1.LVGSpec {
	out := &adminv1.LVGSpec{
		Labels: l.Labels, Properties: l.Properties, ThickOff: l.ThickOff, Unschedulable: l.Unschedulable,
		OverProvisioningPercent: int32(l.OverProvisioningPercent),
		StopDataPercent:         int32(l.StopDataPercent), StopMetadataPercent: int32(l.StopMetadataPercent),
	}
	for _, tp := range l.ThinPools {
		out.ThinPools = append(out.ThinPools, tp.Name)
	}
	return out
}

func poolSpec(p *model.Pool) *adminv1.PoolSpec {
	return &adminv1.PoolSpec{
		Labels: p.Labels, Properties: p.Properties, Storage: storageOf(&p.Storage), Zones: p.Zones, NodeSelector: p.NodeSelector,
		SystemNetworks: p.SystemNetworks, NotReadyGrace: durationpb.New(p.NotReadyGrace),
	}
}

func classSpec(c *model.Class) *adminv1.ClassSpec {
	out := &adminv1.ClassSpec{
		Labels: c.Labels, Properties: c.Properties, Ftt: int32(c.FTT), Gmdr: int32(c.GMDR),
		Topology: string(c.Topology), VolumeAccess: string(c.VolumeAccess), Pool: c.Pool, Storage: storageOf(c.Storage),
		Zones: c.Zones, NodeSelector: c.NodeSelector, SystemNetworks: c.SystemNetworks,
		Rollout: c.Rollout, RolloutMaxParallel: int32(c.RolloutMax), Conflict: c.Conflict, ConflictMaxParallel: int32(c.ConflictMax),
		RepairAfter: durationpb.New(c.RepairAfter), OnNoQuorum: c.OnNoQuorum, Wipe: c.Wipe, TrustZeroed: c.TrustZeroed,
		VerifyEvery: durationpb.New(c.VerifyEvery), Drbd: c.DRBD,
	}
	if c.Storage != nil {
		out.NotReadyGrace = durationpb.New(c.NotReadyGrace) // a named pool has its own
	}
	return out
}

func volumeSpec(vol *model.Volume) *adminv1.VolumeSpec {
	out := &adminv1.VolumeSpec{
		Labels: vol.Labels, Properties: vol.Properties, Class: vol.Class, AttachTo: vol.AttachTo,
		MaxAttachments: int32(max(1, vol.MaxAttachments)), Stopped: vol.Stopped, Drbd: vol.DRBD,
	}
	for _, d := range vol.Devices {
		out.Sizes = append(out.Sizes, d.Size)
	}
	return out
}

// copySame sets the fields of dst that src has under the same name, and names them.
func copySame(dst spec, src proto.Message) (names []string) {
	to, from := dst.ProtoReflect(), src.ProtoReflect()
	fields := from.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		g := to.Descriptor().Fields().ByName(f.Name())
		if g == nil || !from.Has(f) || !sameKind(f, g) {
			continue
		}
		to.Set(g, from.Get(f))
		names = append(names, string(f.Name()))
	}
	return names
}

func sameKind(f, g protoreflect.FieldDescriptor) bool {
	if f.IsMap() != g.IsMap() || f.IsList() != g.IsList() || f.Kind() != g.Kind() {
		return false
	}
	return f.IsMap() || f.Message() == nil || f.Message().FullName() == g.Message().FullName()
}

// overlay sets the given fields of dst to what they are in src.
func overlay(about model.Key, dst, src spec, given []string) error {
	to, from := dst.ProtoReflect(), src.ProtoReflect()
	for _, name := range given {
		f := to.Descriptor().Fields().ByName(protoreflect.Name(name))
		if f == nil {
			return door.Invalid(about, "unknown field %q", name)
		}
		if from.Has(f) {
			to.Set(f, from.Get(f))
		} else {
			to.Clear(f)
		}
	}
	return nil
}

// differences lists the fields in which two specs of one kind differ; before may be nil.
func differences(before, after spec) []*adminv1.Difference {
	var out []*adminv1.Difference
	fields := after.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		from, to := "", textOf(after, name)
		if before != nil {
			from = textOf(before, name)
		}
		if from != to {
			out = append(out, &adminv1.Difference{Field: name, From: from, To: to})
		}
	}
	return out
}

// causeOf is a change in a sentence for the log.
func causeOf(what string, diff []*adminv1.Difference) string {
	var parts []string
	for _, d := range diff {
		parts = append(parts, fmt.Sprintf("%s %s -> %s", d.GetField(), orNone(d.GetFrom()), orNone(d.GetTo())))
	}
	return "change " + what + ": " + strings.Join(parts, ", ")
}

// textOf renders one field of a spec for people, lists and maps in a fixed order. What is
// not set is nothing.
func textOf(m spec, name string) string {
	r := m.ProtoReflect()
	f := r.Descriptor().Fields().ByName(protoreflect.Name(name))
	v := r.Get(f)
	switch {
	case f.IsMap():
		var pairs []string
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			pairs = append(pairs, k.String()+"="+v.String())
			return true
		})
		slices.Sort(pairs)
		return strings.Join(pairs, ",")
	case f.IsList():
		return listText(v.List(), name)
	case f.HasPresence() && !r.Has(f):
		return ""
	case f.Kind() == protoreflect.MessageKind:
		return messageText(v.Message().Interface())
	case f.Kind() == protoreflect.BoolKind && !v.Bool():
		return ""
	}
	if f.Kind() == protoreflect.Int64Kind { // bytes, all of them
		return size(v.Int())
	}
	return fmt.Sprint(v.Interface())
}

// listText renders a list of names as a set, and one of sizes in its order.
func listText(l protoreflect.List, name string) string {
	var parts []string
	for i := range l.Len() {
		if name == "sizes" {
			parts = append(parts, size(l.Get(i).Int()))
			continue
		}
		parts = append(parts, l.Get(i).String())
	}
	if name != "sizes" {
		slices.Sort(parts)
	}
	return strings.Join(parts, ",")
}

func messageText(m proto.Message) string {
	switch m := m.(type) {
	case *durationpb.Duration:
		return durationText(m.AsDuration())
	case *adminv1.Storage:
		groups := slices.Clone(m.GetVgs())
		slices.Sort(groups)
		s := m.GetType() + " " + strings.Join(groups, ",") + m.GetSelector()
		if m.GetThinPool() != "" {
			s += "/" + m.GetThinPool()
		}
		return s
	}
	return ""
}

// durationText renders a duration without units that count nothing: "10m".
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}
