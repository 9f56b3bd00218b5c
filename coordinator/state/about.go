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

// about tells it of a transaction that was carried out as d; nil: it was refused, or repeated,
// and the state is as it was.
func (t *tables) about(txn Txn, d *draft) (a about) {
	if d != nil {
		for _, c := range d.changes {
			a.add(c.object, c.before)
			a.add(c.object, c.after)
		}
		return a
	}
	for _, p := range txn.Put {
		if o, err := t.decodePut(p); err == nil {
			a.add(p.Key, o)
		}
		a.there(p.Key, t)
	}
	for _, k := range txn.Delete {
		a.there(k, t)
	}
	return a
}

// there adds what the object tells that is there.
func (a *about) there(k model.Key, t *tables) {
	if o, ok := t.get(k); ok {
		a.add(k, o)
	}
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
