package state

import (
	"slices"
	"strings"

	"rvol/coordinator/model"
)

// Whereabouts says which node and which volume an object is about; "": none, or only the
// object tells, and it is nil.
func Whereabouts(k model.Key, o model.Object) (node, volume string) {
	first, second, _ := strings.Cut(k.Name, "/")
	switch k.Kind {
	case model.KindNode, model.KindNodeStatus, model.KindLVG, model.KindCapacity:
		return first, ""
	case model.KindVolume, model.KindVolumeStatus, model.KindDecision:
		return "", first
	case model.KindAttachment:
		return second, first
	case model.KindReplica:
		if r, ok := o.(*model.Replica); ok {
			node = r.Node
		}
		return node, first
	case model.KindReservation:
		if r, ok := o.(*model.Reservation); ok {
			volume, _, _ = strings.Cut(r.Owner, "/")
			return r.Pool.Node, volume
		}
	case model.KindOperation:
		if op, ok := o.(*model.Operation); ok {
			return op.Node, op.Volume
		}
	default: // the others belong to no node and no volume
	}
	return "", ""
}

// about is what a transaction is about beyond what its keys name. The trail keeps it, because
// the objects that tell may be gone when somebody asks.
type about struct{ nodes, volumes []string }

// about is what is known before txn is applied: what it removes tells nothing afterwards.
func (t *tables) about(txn Txn) (a about) {
	for _, p := range txn.Put {
		o, _ := t.get(p.Key)
		a.add(p.Key, o)
	}
	for _, k := range txn.Delete {
		o, _ := t.get(k)
		a.add(k, o)
	}
	return a
}

func (a *about) add(k model.Key, o model.Object) {
	node, volume := Whereabouts(k, o)
	namedNode, namedVolume := Whereabouts(k, nil)
	if node != namedNode && !slices.Contains(a.nodes, node) {
		a.nodes = append(a.nodes, node)
	}
	if volume != namedVolume && !slices.Contains(a.volumes, volume) {
		a.volumes = append(a.volumes, volume)
	}
}
