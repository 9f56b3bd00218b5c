package decide

import (
	"time"

	"rvol/drbd"
)

// A ReplicaState is how far this node has come with one replica.
type ReplicaState struct {
	Volume          string
	ReplicaUID      string
	AppliedRevision int64 // datamesh revision that the node runs; 0: not a member yet
	Preconfigured   bool
	JustCreated     bool
	Step            string // what it is doing or waiting for
	Error           string // why it cannot go on
	ErrorClass      string
	Definite        bool
	Backing         []BackingState
	TogetherRound   int64 // newest round after whose order both copies were seen together
	Refusals        int   // definite ones in a row
	Failed          bool  // the node has given up until something changes
	PrimaryAllowed  bool  // the node has read its fence, or has none
	Apart           []Apart
}

// Apart is a peer that DRBD has given up, as seen from here.
type Apart struct {
	Peer    drbd.NodeID
	Since   time.Time
	Devices []ApartDevice
}

// An ApartDevice tells what a device holds.
type ApartDevice struct {
	Number      int
	Generations drbd.Generations // zero: could not be read
	OutOfSync   int64            // bytes that the peer lacks of what was written here
}

// A BackingState is what one device stands on.
type BackingState struct {
	Number      int
	Reservation string
	LVUUID      string
	LVSize      int64 // bytes
	Usable      int64 // bytes; 0: not up
}

// Refuse notes why the replica cannot go on.
func (s *ReplicaState) Refuse(r *Refusal) {
	s.Error, s.ErrorClass, s.Definite = r.Text, r.Class, r.Definite
}
