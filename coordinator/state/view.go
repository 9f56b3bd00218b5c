package state

import (
	"iter"
	"strings"
	"time"

	"rvol/coordinator/model"
)

// A View is the state at one index. It never changes and may be used by many at once.
// The objects it hands out are shared: take a model.Clone before changing one.
type View struct{ t *tables }

// Index is the log index that the view shows.
func (v View) Index() uint64 { return v.t.index }

// Time is the time of the entry at Index. It never goes back and is for people only.
func (v View) Time() time.Time { return v.t.time }

// Format is the format of the state in force.
func (v View) Format() int { return v.t.format }

// Hash stands for the whole state: equal on every coordinator at the same index.
func (v View) Hash() Hash { return v.t.hash() }

// Chain is the head of the audit chain.
func (v View) Chain() Hash { return v.t.chain }

// Get returns the object of type T called name.
func Get[T model.Object](v View, name string) (T, bool) {
	o, ok := v.t.get(model.Key{Kind: model.KindOf[T](), Name: name})
	if !ok {
		var none T
		return none, false
	}
	return o.(T), true
}

// All visits every object of type T, sorted by name.
func All[T model.Object](v View) iter.Seq[T] { return Under[T](v, "") }

// Under visits the objects of type T whose name starts with prefix, sorted by name: the
// replicas of a volume have the prefix "db-1/".
func Under[T model.Object](v View, prefix string) iter.Seq[T] {
	return scan[T](v.t.objects, string(model.KindOf[T]())+"/"+prefix)
}

// Count is the number of objects of every kind.
func (v View) Count() int { return v.t.objects.Len() }

// Object returns the object under a key, whatever its kind.
func (v View) Object(k model.Key) (model.Object, bool) { return v.t.get(k) }

// Objects visits every object, sorted by kind and name.
func (v View) Objects() iter.Seq[model.Object] { return scan[model.Object](v.t.objects, "") }

// Unscheduled visits the replicas that are to get a place and have none: those that were
// not tried yet, then the others by the index since when they wait.
func (v View) Unscheduled() iter.Seq[*model.Replica] {
	return scan[*model.Replica](v.t.lookup, indexPrefix(byWaiting))
}

// Waiting visits those of them that were tried, the one that waits longest first.
func (v View) Waiting() iter.Seq[*model.Replica] {
	return func(yield func(*model.Replica) bool) {
		v.t.lookup.Ascend(indexKey(byWaiting, sortable(1)), func(key string, o model.Object) bool {
			r, ok := o.(*model.Replica)
			return ok && strings.HasPrefix(key, indexPrefix(byWaiting)) && yield(r)
		})
	}
}

// PoolsMoved visits the names of the pools whose charges or capacity changed after index.
func (v View) PoolsMoved(after uint64) iter.Seq[string] {
	return func(yield func(string) bool) {
		v.t.movedAt.Ascend(sortable(after+1), func(_, pool string) bool { return yield(pool) })
	}
}

// ReplicasOn visits the replicas on node, sorted by volume.
func (v View) ReplicasOn(node string) iter.Seq[*model.Replica] {
	return scan[*model.Replica](v.t.lookup, indexPrefix(byNode, node))
}

// ReplicaOn returns the replica of volume on node.
func (v View) ReplicaOn(node, volume string) (*model.Replica, bool) {
	return holder[*model.Replica](v, indexKey(byNode, node, volume))
}

// ReplicaWithPort returns the replica that listens on port on node.
func (v View) ReplicaWithPort(node string, port int) (*model.Replica, bool) {
	return holder[*model.Replica](v, numberKey(byPort, node, port))
}

// ReplicaWithMinor returns the replica that has minor on node.
func (v View) ReplicaWithMinor(node string, minor int) (*model.Replica, bool) {
	return holder[*model.Replica](v, numberKey(byMinor, node, minor))
}

// ReservationWithLV returns the reservation whose LV has the UUID lv in the group vg
// (a UUID) on node.
func (v View) ReservationWithLV(node, vg, lv string) (*model.Reservation, bool) {
	return holder[*model.Reservation](v, indexKey(byLV, node, vg, lv))
}

// ReservationsIn visits the reservations in a pool, sorted by uid.
func (v View) ReservationsIn(p model.PoolID) iter.Seq[*model.Reservation] {
	return scan[*model.Reservation](v.t.lookup, indexPrefix(byPool, p.String()))
}

// Charged is the sum of the charges of the reservations in a pool, in bytes.
func (v View) Charged(p model.PoolID) int64 {
	sum, _ := v.t.charged.Get(p.String())
	return sum
}

// ReservationsOf visits the reservations of one owner, sorted by uid: those of a
// replica are ReservationsOf(model.OwnerReplica, "db-1/0").
func (v View) ReservationsOf(ownerKind, owner string) iter.Seq[*model.Reservation] {
	return scan[*model.Reservation](v.t.lookup, indexPrefix(byOwner, ownerKind, owner))
}

// ReservationsOfVolume visits the reservations of all replicas of a volume, those of
// deleted replicas that are still to be released included.
func (v View) ReservationsOfVolume(volume string) iter.Seq[*model.Reservation] {
	return v.t.reservationsOfVolume(volume)
}

// AttachmentsOn visits the attachments on node, sorted by volume.
func (v View) AttachmentsOn(node string) iter.Seq[*model.Attachment] {
	return scan[*model.Attachment](v.t.lookup, indexPrefix(byAttachment, node))
}

// OperationsOn visits the operations of node, sorted by name.
func (v View) OperationsOn(node string) iter.Seq[*model.Operation] {
	return scan[*model.Operation](v.t.lookup, indexPrefix(byOperation, node))
}

// VolumesOfClass visits the volumes of a class, sorted by name.
func (v View) VolumesOfClass(class string) iter.Seq[*model.Volume] {
	return scan[*model.Volume](v.t.lookup, indexPrefix(byClass, class))
}

// VolumesInPool visits the status of the volumes whose configuration names the pool,
// sorted by name.
func (v View) VolumesInPool(pool string) iter.Seq[*model.VolumeStatus] {
	return scan[*model.VolumeStatus](v.t.lookup, indexPrefix(byStoragePool, pool))
}

// NodeRevision is the index of the last change that touches what node must hold; see
// touched. It does not go back when the change is a removal.
func (v View) NodeRevision(node string) uint64 {
	rev, _ := v.t.nodes.Get(node)
	return max(rev, v.t.allNodes)
}

// Request returns what became of the request with this id, if it is still remembered.
func (v View) Request(id string) (Result, bool) {
	r, ok := v.t.requests.Get(id)
	return r.Result, ok
}

func holder[T model.Object](v View, key string) (T, bool) {
	o, ok := v.t.lookup.Get(key)
	if !ok {
		var none T
		return none, false
	}
	return o.(T), true
}
