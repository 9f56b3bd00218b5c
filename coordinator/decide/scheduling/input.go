package scheduling

import "rvol/coordinator/decide/layout"

// An Input is everything that decides where the replicas of one volume go.
type Input struct {
	Missing Missing // what must be there before anything is placed

	Candidates   *Candidates
	Topology     layout.Topology
	Layout       layout.Layout
	VolumeAccess VolumeAccess
	Thin         bool  // the pool's places are thin pools
	Size         int64 // bytes that each Diskful charges to its place, DRBD metadata included
	Replicas     []Replica
	AttachTo     []string // nodes that want the volume
	Mode         Mode

	DRBD    string  // the DRBD that all replicas need: "8.4" or "9"; empty: any
	Refused []Place // places that refused this request before

	Explain int // how many alternatives to tell of per replica; 0: none
}

// A Mode says by which rules replicas are ordered and whether the search may help.
type Mode uint8

const (
	// Live is how volumes are placed: by numeric id, deleting replicas never, with the search.
	Live Mode = iota
	// Cases is how written cases are answered: not deleting first, by time, then textual name; rules alone.
	Cases
)

// Missing is what scheduling waits for.
type Missing uint8

// What may be missing.
const (
	NothingMissing Missing = iota
	VolumeMissing
	ConfigurationMissing
	PoolMissing
)

// VolumeAccess says from where a volume is used. Only Any matters here.
type VolumeAccess string

// The accesses.
const (
	AccessAny             VolumeAccess = "Any"
	AccessLocal           VolumeAccess = "Local"
	AccessPreferablyLocal VolumeAccess = "PreferablyLocal"
)

// A ReplicaType says what a replica holds.
type ReplicaType string

// The types. A replica of any other type is left alone.
const (
	Diskful    ReplicaType = "Diskful"
	TieBreaker ReplicaType = "TieBreaker"
	Access     ReplicaType = "Access"
)

// A Replica is one replica of the volume, with what was already chosen for it.
type Replica struct {
	ID        int
	Type      ReplicaType
	Place     Place
	Want      Place // where it was asked to go; what is empty may be chosen
	Leaving   bool  // another takes its place: it holds its node, and counts nowhere else
	Deleting  bool
	CreatedAt int64 // seconds; orders Cases only
}

// A Place is where a replica is, or may go: a node and, for a Diskful, an LVG or a thin pool of one.
type Place struct {
	Node     string
	LVG      string
	ThinPool string
}

// complete says whether nothing is left to choose.
func (r Replica) complete(thin bool) bool {
	switch r.Type {
	case TieBreaker:
		return r.Place.Node != ""
	case Diskful:
		return r.Place.Node != "" && r.Place.LVG != "" && (r.Place.ThinPool != "") == thin
	case Access:
	}
	return false
}
