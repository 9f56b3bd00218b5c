package control

import (
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// World is everything a controller may look at.
type World struct {
	State     state.View
	Latest    func() state.View // the state as it is when called, which may be newer than State
	Inventory inventory.View
	Now       time.Time // for people, and for tokens' expiry

	// Held says for how long name has been holding without a break on this leader. It is
	// how anything that may destroy counts time: on the leader's monotonic clock, only
	// while holding (every agent concerned has reported), and anew with a new leader.
	Held func(name string, holding bool) time.Duration

	// Fresh returns a new unguessable identifier.
	Fresh func() string
}

// Outcome is what a controller asks for: a change, another look later, or nothing.
type Outcome struct {
	Txn    *state.Build  // nil: nothing to change
	Again  time.Duration // look again after this long, should nothing happen before; 0: when something changes
	Reason string        // for people: why it waits

	// Done is told what became of Txn, when it is known; nil: nobody asks.
	Done func(error)
}

// A Controller decides about one kind of thing, one key at a time.
type Controller interface {
	Name() string

	// Affected says whose turn it is when an object changed.
	Affected(changed model.Key, v state.View) []string

	// AffectedBy says whose turn it is when a node's soft facts changed.
	AffectedBy(node string, v state.View) []string

	// All lists every key, for a new leader.
	All(v state.View) []string

	// Decide is idempotent: called again in the same world it asks for the same.
	Decide(w World, key string) (Outcome, error)
}

// Actor is how the log names a controller.
func Actor(c Controller) string { return "controller/" + c.Name() }
