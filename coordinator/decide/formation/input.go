package formation

import (
	"net/netip"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
)

// Input is everything formation may look at. Records are shared: it changes copies only.
type Input struct {
	Volume    *model.Volume
	Status    *model.VolumeStatus // with its configuration set
	Layout    layout.Layout
	Pool      *model.PoolStatus
	Replicas  []Replica // of the volume, sorted by id, deleting ones too
	Operation *model.Operation
	OldSecret *model.Secret // of an earlier try; nil: none

	Now     time.Time     // for people only
	InStep  time.Duration // how long the active step has lasted while all agents concerned had reported
	Waited  time.Duration // how long since the last restart, likewise
	Secret  string        // a fresh one, should it be needed
	UIDs    []string      // fresh ones, as many as the layout has replicas
	Zeroing func(model.PoolID) bool
}

// Replica is one replica with what its agent says.
type Replica struct {
	*model.Replica
	Reservations []*model.Reservation // by device
	Eligible     bool                 // its node, and its LVG, are in the pool's eligible set
	Lacks        string               // what its node cannot do any more that the replica needs; empty: nothing
	Known        bool                 // its node's report can be relied on
	Blind        string               // what its agent could not read, when that is why it is not Known
	HostName     string
	Addresses    map[string]netip.Addr
	State        inventory.ReplicaState // zero: the agent has not spoken of it yet
	Resource     inventory.Resource     // what the kernel of its node has
}

// Outcome is what is to be written, and what is waited for.
type Outcome struct {
	Put     []model.Object
	Delete  []model.Object
	Cause   string        // for the log, when there is something to write
	Wait    string        // for people: who is waited for, and why
	Restart bool          // everything is thrown away
	Again   time.Duration // look again after this long, should nothing happen before
}

// Changed says whether there is something to write.
func (o Outcome) Changed() bool { return len(o.Put) > 0 || len(o.Delete) > 0 }

// The steps, in order, and the name of the plan they make. The plan is stored while it
// runs: a change of the steps needs a new version.
const (
	Plan                  = "formation/v1"
	Preconfigure          = "Preconfigure"
	EstablishConnectivity = "EstablishConnectivity"
	BootstrapData         = "BootstrapData"
)

// MissingGrace is how long what an agent lacks is borne before anything is done about it: a
// package that is being upgraded, a report that is under way (seed 004).
const MissingGrace = 15 * time.Second

// Timeouts of a step, counted from its start (DESIGN 6.4), and the back-off between restarts.
const (
	stepTimeout    = 60 * time.Second
	syncRate       = 100 * 1000 * 1000 / 8 // bytes a second: 100 Mbit/s, seed 001's worst case
	restartDelay   = 5 * time.Second
	restartDelayTo = 2 * time.Minute
	maxRefused     = 10              // restarts in a row, as many as an agent bears
	quiet          = 2 * time.Second // how long a step is not spoken of
)
