package model

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Kind names a sort of object.
type Kind string

// The kinds of object, in the order in which exports list them.
const (
	KindCluster      Kind = "cluster"
	KindMember       Kind = "member"
	KindIdentity     Kind = "identity"
	KindToken        Kind = "token"
	KindSecret       Kind = "secret"
	KindNode         Kind = "node"
	KindNodeStatus   Kind = "node.status"
	KindLVG          Kind = "lvg"
	KindCapacity     Kind = "capacity"
	KindPool         Kind = "pool"
	KindPoolStatus   Kind = "pool.status"
	KindClass        Kind = "class"
	KindClassStatus  Kind = "class.status"
	KindVolume       Kind = "volume"
	KindVolumeStatus Kind = "volume.status"
	KindReplica      Kind = "replica"
	KindReservation  Kind = "reservation"
	KindAttachment   Kind = "attachment"
	KindOperation    Kind = "operation"
	KindDecision     Kind = "decision"
	KindQuota        Kind = "quota"
)

// Key is where an object lives: its kind and its name within the kind. Names of
// children start with their parent's: replica "db-1/0", attachment "db-1/n2".
type Key struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// String renders k as "volume/db-1".
func (k Key) String() string { return string(k.Kind) + "/" + k.Name }

// MarshalText renders k as its string, so that keys may index JSON maps.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Key) UnmarshalText(b []byte) error {
	kind, name, ok := strings.Cut(string(b), "/")
	if !ok || kind == "" || name == "" {
		return fmt.Errorf("read key %q: want kind/name", b)
	}
	*k = Key{Kind: Kind(kind), Name: name}
	return nil
}

// Meta is what every object has.
type Meta struct {
	Name          string            `json:"name"`
	UID           string            `json:"uid,omitempty"`
	Generation    int64             `json:"generation,omitempty"` // raised by each change of what the operator wants
	CreatedAt     time.Time         `json:"created_at,omitzero"`
	DeletingSince time.Time         `json:"deleting_since,omitzero"` // zero: not being deleted
	Labels        map[string]string `json:"labels,omitempty"`
	Properties    map[string]string `json:"properties,omitempty"` // opaque to rvol, kept verbatim

	// Revision is the log index of the last change. The state sets it when it
	// hands the object out; it is not part of the stored bytes.
	Revision uint64 `json:"-"`

	raw    []byte // the bytes this object was read from; nil: encoding it gives them
	stored uint32 // their checksum; 0: it was not read
}

// Info gives access to the Meta that an object embeds.
func (m *Meta) Info() *Meta { return m }

// Deleting says whether somebody asked for this object to go away.
func (m *Meta) Deleting() bool { return !m.DeletingSince.IsZero() }

// An Object is one record of the state. Objects read from a view are shared and
// must not be changed: take a Clone first.
type Object interface {
	Key() Key
	Info() *Meta
}

// blank makes an empty object of each kind. It is the one list of kinds that
// encoding, snapshots and exports go by.
var blank = map[Kind]func() Object{
	KindCluster:      func() Object { return &Cluster{} },
	KindMember:       func() Object { return &Member{} },
	KindIdentity:     func() Object { return &Identity{} },
	KindToken:        func() Object { return &Token{} },
	KindSecret:       func() Object { return &Secret{} },
	KindNode:         func() Object { return &Node{} },
	KindNodeStatus:   func() Object { return &NodeStatus{} },
	KindLVG:          func() Object { return &LVG{} },
	KindCapacity:     func() Object { return &Capacity{} },
	KindPool:         func() Object { return &Pool{} },
	KindPoolStatus:   func() Object { return &PoolStatus{} },
	KindClass:        func() Object { return &Class{} },
	KindClassStatus:  func() Object { return &ClassStatus{} },
	KindVolume:       func() Object { return &Volume{} },
	KindVolumeStatus: func() Object { return &VolumeStatus{} },
	KindReplica:      func() Object { return &Replica{} },
	KindReservation:  func() Object { return &Reservation{} },
	KindAttachment:   func() Object { return &Attachment{} },
	KindOperation:    func() Object { return &Operation{} },
	KindDecision:     func() Object { return &Decision{} },
	KindQuota:        func() Object { return &Quota{} },
}

// New makes an empty object of kind k, or nil when this binary does not know k.
func New(k Kind) Object {
	if make, ok := blank[k]; ok {
		return make()
	}
	return nil
}

// kinds maps the struct of each kind back to it.
var kinds = func() map[reflect.Type]Kind {
	m := map[reflect.Type]Kind{}
	for k, make := range blank {
		m[reflect.TypeOf(make())] = k
	}
	return m
}()

// KindOf is the kind of the objects of type T, or "" when T is not one of this package.
func KindOf[T Object]() Kind { return kinds[reflect.TypeFor[T]()] }
