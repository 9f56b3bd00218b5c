package state

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"rvol/coordinator/model"
)

// tables are the whole state at one index. A copy is cheap and shares everything with
// the original until either changes.
type tables struct {
	head

	objects  *btree.Map[string, model.Object] // "kind/name"
	lookup   *btree.Map[string, model.Object] // see indexKeys
	charged  *btree.Map[string, int64]        // pool -> bytes: the sum of its reservations' charges
	moved    *btree.Map[string, uint64]       // pool -> index of the last change of its charges or capacity
	movedAt  *btree.Map[string, string]       // the same, by index
	quotas   []quota                          // with what their volumes take up; replaced as a whole
	nodes    *btree.Map[string, uint64]       // node -> index of the last change that touches it
	requests *btree.Map[string, request]      // request id -> what became of it
	queue    *btree.Map[uint64, string]       // the request ids, oldest first
	sum      digest                           // of all rows of the maps above
	writing  *writing
}

// writing is what changing the tables needs again and again. Who reads must not use it: a
// copy of the tables shares it.
type writing struct {
	hasher  *hasher
	decoder model.Decoder
	value   []byte
}

// head is what there is one of.
type head struct {
	index    uint64    // of the last entry
	time     time.Time // of the last entry, never going back
	format   int       // in force
	chain    Hash      // head of the audit chain
	allNodes uint64    // index of the last change that touches every node
	nextReq  uint64    // number of the next request row
}

func newTables() *tables {
	return &tables{
		head:     head{format: MinFormat},
		objects:  btree.NewMap[string, model.Object](0),
		lookup:   btree.NewMap[string, model.Object](0),
		charged:  btree.NewMap[string, int64](0),
		moved:    btree.NewMap[string, uint64](0),
		movedAt:  btree.NewMap[string, string](0),
		nodes:    btree.NewMap[string, uint64](0),
		requests: btree.NewMap[string, request](0),
		queue:    btree.NewMap[uint64, string](0),
		writing:  &writing{hasher: newHasher("")},
	}
}

func (t *tables) copy() *tables {
	c := *t
	c.objects, c.lookup = t.objects.Copy(), t.lookup.Copy()
	c.charged, c.nodes = t.charged.Copy(), t.nodes.Copy()
	c.moved, c.movedAt = t.moved.Copy(), t.movedAt.Copy()
	c.requests, c.queue = t.requests.Copy(), t.queue.Copy()
	return &c
}

func (t *tables) get(k model.Key) (model.Object, bool) { return t.objects.Get(k.String()) }

// remove forgets the object under key. All that a transaction replaces goes first:
// what one object gives up (a port) another may take in the same transaction.
func (t *tables) remove(key string, o model.Object) {
	t.writing.value = model.AppendRaw(t.writing.value[:0], o)
	t.sum.remove(t.objectHash(key, o.Info().Revision, t.writing.value))
	for _, k := range indexKeys(o) {
		t.lookup.Delete(k)
	}
	t.charge(o, -1)
	t.objects.Delete(key)
}

// insert stores o, which was read from value.
func (t *tables) insert(key string, o model.Object, value []byte) {
	t.enter(key, o, value)
	t.objects.Set(key, o)
}

// enter does all for o but store it.
func (t *tables) enter(key string, o model.Object, value []byte) {
	t.sum.add(t.objectHash(key, o.Info().Revision, value))
	for _, k := range indexKeys(o) {
		t.lookup.Set(k, o)
	}
	t.charge(o, 1)
}

// charge adds sign times the charge of o, if it is a reservation, to its pool.
func (t *tables) charge(o model.Object, sign int64) {
	if c, ok := o.(*model.Capacity); ok {
		t.move(c.Pool.String())
	}
	r, ok := o.(*model.Reservation)
	if !ok {
		return
	}
	pool := r.Pool.String()
	t.move(pool)
	sum, _ := t.charged.Get(pool)
	if sum += sign * r.Charge(); sum == 0 {
		t.charged.Delete(pool)
		return
	}
	t.charged.Set(pool, sum)
}

// move notes that the charges or the capacity of a pool changed. It is not part of the
// hash: what a snapshot brings counts as changed at its index.
func (t *tables) move(pool string) {
	old, ok := t.moved.Get(pool)
	if ok && old == t.index {
		return
	}
	if ok {
		t.movedAt.Delete(indexKey(sortable(old), pool))
	}
	t.moved.Set(pool, t.index)
	t.movedAt.Set(indexKey(sortable(t.index), pool), pool)
}

// sortable writes a log index so that texts sort as numbers do.
func sortable(index uint64) string { return fmt.Sprintf("%020d", index) }

// setNode records that a change at rev touches node.
func (t *tables) setNode(node string, rev uint64) {
	if old, ok := t.nodes.Get(node); ok {
		t.sum.remove(t.nodeHash(node, old))
	}
	t.nodes.Set(node, rev)
	t.sum.add(t.nodeHash(node, rev))
}

// The indexes. A key belongs to one object, which makes the same map the guard of what
// must be unique: a replica's node and volume, ports, minors, LVs.
const (
	byNode        = "node"  // node, volume -> replica
	byPort        = "port"  // node, port -> replica
	byMinor       = "minor" // node, minor -> replica
	byLV          = "lv"    // node, VG, LV -> reservation
	byPool        = "pool"  // pool, uid -> reservation
	byOwner       = "own"   // kind, owner, uid -> reservation
	byAttachment  = "att"   // node, volume -> attachment
	byOperation   = "op"    // node, name -> operation
	byClass       = "class" // class, name -> volume
	byStoragePool = "sp"    // pool, name -> volume.status
	byWaiting     = "wait"  // since when, name -> replica without a place
)

const separator = "\x00" // decodePut refuses objects that hold one

func indexKey(parts ...string) string { return strings.Join(parts, separator) }

// indexPrefix is what all index keys that start with parts have in common.
func indexPrefix(parts ...string) string { return indexKey(parts...) + separator }

func numberKey(index, node string, n int) string { return indexKey(index, node, strconv.Itoa(n)) }

// indexKeys are the keys under which o is found, other than its own.
func indexKeys(o model.Object) []string {
	switch o := o.(type) {
	case *model.Replica:
		return replicaKeys(o)
	case *model.Reservation:
		keys := []string{indexKey(byPool, o.Pool.String(), o.Name), indexKey(byOwner, o.OwnerKind, o.Owner, o.Name)}
		if o.LVUUID != "" {
			keys = append(keys, indexKey(byLV, o.Pool.Node, o.Pool.VG, o.LVUUID))
		}
		return keys
	case *model.Attachment:
		return []string{indexKey(byAttachment, o.Node, o.Volume)}
	case *model.Operation:
		return []string{indexKey(byOperation, o.Node, o.Name)}
	case *model.Volume:
		return []string{indexKey(byClass, o.Class, o.Name)}
	case *model.VolumeStatus:
		if o.Configuration != nil {
			return []string{indexKey(byStoragePool, o.Configuration.Pool, o.Name)}
		}
	}
	return nil
}

func (t *tables) reservationsOfVolume(volume string) iter.Seq[*model.Reservation] {
	return scan[*model.Reservation](t.lookup, indexKey(byOwner, model.OwnerReplica, volume+"/"))
}

func replicaKeys(r *model.Replica) []string {
	var keys []string
	unplaced := r.Type != model.Access && !r.Conditions.Is("Scheduled", model.True) || r.Type == model.Access && r.Node != "" && r.Port == 0
	if unplaced && !r.Deleting() {
		keys = append(keys, indexKey(byWaiting, sortable(r.WaitingSince), r.Name))
	}
	if r.Node == "" {
		return keys
	}
	keys = append(keys, indexKey(byNode, r.Node, r.Volume))
	if r.Port != 0 {
		keys = append(keys, numberKey(byPort, r.Node, r.Port))
	}
	for _, d := range r.Devices {
		if d.Minor != 0 {
			keys = append(keys, numberKey(byMinor, r.Node, d.Minor))
		}
	}
	return keys
}

// scan visits the objects of m whose key starts with prefix, in the order of the keys.
func scan[T model.Object](m *btree.Map[string, model.Object], prefix string) iter.Seq[T] {
	return func(yield func(T) bool) {
		m.Ascend(prefix, func(key string, o model.Object) bool {
			if !strings.HasPrefix(key, prefix) {
				return false
			}
			t, ok := o.(T)
			return !ok || yield(t)
		})
	}
}
