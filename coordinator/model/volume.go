package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of volumes.
const (
	MaxVolumeName = 48
	SizeStep      = 4096    // bytes: a device's size is a multiple of this
	MaxSize       = 1 << 50 // bytes: 1 PiB
	MaxReplicaID  = 31
	MaxDiskful    = 8 // 7 bitmap slots and oneself
)

// Volume is what a user asks for.
type Volume struct {
	Meta
	Devices        []VolumeDevice    `json:"devices"` // share one DRBD resource
	Class          string            `json:"class"`
	AttachTo       []string          `json:"attach_to,omitempty"` // nodes on which it will be used; placement prefers them
	MaxAttachments int               `json:"max_attachments"`
	DRBD           map[string]string `json:"drbd,omitempty"`    // override of the class's tuning options
	Stopped        bool              `json:"stopped,omitempty"` // down everywhere, kept
}

// VolumeDevice is one block device of a volume.
type VolumeDevice struct {
	Number int   `json:"number"`
	Size   int64 `json:"size"` // bytes usable
}

// Key is the volume's key.
func (v *Volume) Key() Key { return Key{KindVolume, v.Name} }

// Size is the sum of the device sizes in bytes.
func (v *Volume) Size() int64 {
	var n int64
	for _, d := range v.Devices {
		n += d.Size
	}
	return n
}

// VolumeStatus is what the controllers decided about a volume.
type VolumeStatus struct {
	Meta
	Configuration           *Configuration             `json:"configuration,omitempty"`
	ConfigurationGeneration int64                      `json:"configuration_generation,omitempty"` // the class generation it runs
	ConfigurationObserved   int64                      `json:"configuration_observed,omitempty"`   // the class generation it has seen
	ConfiguringRevision     int64                      `json:"configuring_revision,omitempty"`     // mesh revision at which its members render a new configuration; 0: all have
	Declined                int64                      `json:"declined,omitempty"`                 // the class generation whose change an operator cancelled: it is not begun again
	DRBD                    string                     `json:"drbd,omitempty"`                     // "8.4" or "9": what all its replicas run
	NextID                  int                        `json:"next_id"`                            // ids are handed out least recently used
	Datamesh                Datamesh                   `json:"datamesh"`
	Sole                    *int                       `json:"sole,omitempty"`       // the one replica that may go on alone; nil: none
	SoleRound               int64                      `json:"sole_round,omitempty"` // counts the times that one was let go on alone
	Recovered               *int                       `json:"recovered,omitempty"`  // the replica that somebody took as good, until it is connected with all other copies
	Formed                  bool                       `json:"formed"`               // once true, never formed again
	Restarts                int                        `json:"restarts,omitempty"`   // of formation, so far
	Refused                 int                        `json:"refused,omitempty"`    // restarts in a row because of what waiting does not cure
	LastError               string                     `json:"last_error,omitempty"` // why formation ended last
	Formation               *Transition                `json:"formation,omitempty"`
	Transitions             []Transition               `json:"transitions,omitempty"`
	Pending                 []PendingReplicaTransition `json:"pending_replica_transitions,omitempty"` // sorted by id
	Verification            *Verification              `json:"verification,omitempty"`                // the newest; nil: there was none
	Conditions              Conditions                 `json:"conditions,omitempty"`
}

// Key is the volume status's key.
func (v *VolumeStatus) Key() Key { return Key{KindVolumeStatus, v.Name} }

// GoesAlone lets one replica go on alone, in a round of its own: only what was seen after
// it can end it.
func (v *VolumeStatus) GoesAlone(id int) {
	v.Sole = &id
	v.SoleRound++
}

// KeepsTwo says that no copy may ever go on alone: the class guarantees that every
// acknowledged write is on two.
func (v *VolumeStatus) KeepsTwo() bool { return v.Configuration != nil && v.Configuration.GMDR > 0 }

// Datamesh is the set of replicas that must know each other, at one revision.
type Datamesh struct {
	Revision                int64            `json:"revision"`          // 0: none yet; counts on over restarts of formation
	Members                 []DatameshMember `json:"members,omitempty"` // sorted by id
	Quorum                  int              `json:"quorum,omitempty"`  // 0: off
	QuorumMinimumRedundancy int              `json:"quorum_minimum_redundancy,omitempty"`
	Devices                 []VolumeDevice   `json:"devices,omitempty"` // sizes in force
	SystemNetworks          []string         `json:"system_networks,omitempty"`
	TwoPrimaries            bool             `json:"two_primaries,omitempty"`
	Forget                  []int            `json:"forget,omitempty"` // ids of members that left: their bitmap slots are to be freed; sorted
}

// Voters is how many members vote: those with a disk, and those on the way to one or from it.
func (d Datamesh) Voters() int {
	n := 0
	for _, m := range d.Members {
		if m.Type == Diskful || m.Type == LiminalDiskful {
			n++
		}
	}
	return n
}

// Member returns the member with the given id.
func (d Datamesh) Member(id int) (DatameshMember, bool) {
	for _, m := range d.Members {
		if m.ID == id {
			return m, true
		}
	}
	return DatameshMember{}, false
}

// DatameshMember is one replica's part in the mesh.
type DatameshMember struct {
	ID        int                       `json:"id"` // DRBD node-id
	Type      ReplicaType               `json:"type"`
	Node      string                    `json:"node"`
	HostName  string                    `json:"host_name"`
	Zone      string                    `json:"zone,omitempty"`
	Addresses map[string]netip.AddrPort `json:"addresses"` // network name -> where it listens
}

// ReplicaType is what a replica does for its volume.
type ReplicaType string

// The replica types.
const (
	Diskful    ReplicaType = "Diskful"
	TieBreaker ReplicaType = "TieBreaker" // diskless, votes
	Access     ReplicaType = "Access"     // diskless, serves a user of the volume
)

// LiminalDiskful is a member that votes and whose disk is not attached: on its way to
// Diskful, or from it. Members are that for some steps of a transition, replicas never.
const LiminalDiskful ReplicaType = "LiminalDiskful"

// Replica is one node's part of a volume. Its name is VOLUME/ID.
type Replica struct {
	Meta
	Volume     string          `json:"volume"`
	ID         int             `json:"id"` // DRBD node-id, 0..31
	Type       ReplicaType     `json:"type"`
	Node       string          `json:"node,omitempty"`
	VG         string          `json:"vg,omitempty"`
	ThinPool   string          `json:"thin_pool,omitempty"`
	Port       int             `json:"port,omitempty"`
	Devices    []ReplicaDevice `json:"devices,omitempty"`
	ForUse     bool            `json:"for_use,omitempty"`    // Access only: made for an attachment, goes after it
	Conditions Conditions      `json:"conditions,omitempty"` // Scheduled; the rest is computed from soft facts when read

	// WaitingSince is the log index at which it was first seen that there is no place for
	// the replica; 0: not yet tried, or placed. Who waits longer comes first.
	WaitingSince uint64 `json:"waiting_since,omitempty"`

	Retry int64 `json:"retry,omitempty"` // counts the times that somebody said: try again
}

// ReplicaDevice is one device of a replica.
type ReplicaDevice struct {
	Number      int    `json:"number"`
	Minor       int    `json:"minor"`
	Reservation string `json:"reservation,omitempty"` // uid; Diskful only
}

// Key is the replica's key.
func (r *Replica) Key() Key { return Key{KindReplica, r.Name} }

// Diskless says that the replica has no reservation on any device.
func (r *Replica) Diskless() bool {
	return !slices.ContainsFunc(r.Devices, func(d ReplicaDevice) bool { return d.Reservation != "" })
}

// ReleaseName is how the release of a replica is named that has no reservation.
func (r *Replica) ReleaseName() string { return "replica-" + r.UID }

// ReplicaName is the name of the replica id of volume.
func ReplicaName(volume string, id int) string { return volume + "/" + strconv.Itoa(id) }

// FreeReplicaID is the least recently used id that is not taken, and the one after it.
func FreeReplicaID(next int, taken []int) (id, after int, ok bool) {
	for range MaxReplicaID + 1 {
		id = next % (MaxReplicaID + 1)
		next = id + 1
		if !slices.Contains(taken, id) {
			return id, next, true
		}
	}
	return 0, next, false
}

// SplitReplicaName undoes ReplicaName.
func SplitReplicaName(name string) (volume string, id int, err error) {
	v, n, ok := strings.Cut(name, "/")
	id, convErr := strconv.Atoi(n)
	if !ok || convErr != nil || v == "" || id < 0 || id > MaxReplicaID {
		return "", 0, fmt.Errorf("%w: replica %q: want VOLUME/ID, as in db-1/0", ErrInvalid, name)
	}
	return v, id, nil
}

// ResourceName is the DRBD resource of a volume.
func ResourceName(volume string) string { return "rvol-" + volume }

// LVName is the logical volume of one device of one replica.
func LVName(volume string, device, id int) string {
	return fmt.Sprintf("rvol-%s.%d.%d", volume, device, id)
}

// Attachment says that a volume is to be used on a node. Its name is VOLUME/NODE. The
// operator makes it and asks for its end; the controllers grant it.
type Attachment struct {
	Meta
	Volume  string `json:"volume"`
	Node    string `json:"node"`
	Granted bool   `json:"granted,omitempty"` // the node is to be Primary
	Reason  string `json:"reason,omitempty"`  // why it is not granted, or not yet gone
	Message string `json:"message,omitempty"`
}

// Key is the attachment's key.
func (a *Attachment) Key() Key { return Key{KindAttachment, a.Name} }

// AttachmentName is the name of the attachment of volume on node.
func AttachmentName(volume, node string) string { return volume + "/" + node }

// Transition is a change of a volume under way: named, versioned, in steps.
type Transition struct {
	Type      string    `json:"type"`
	Plan      string    `json:"plan"` // "formation/v1"
	StartedAt time.Time `json:"started_at"`
	Restarts  int       `json:"restarts,omitempty"`
	// Compatible is the plan's declaration that it moves no data: it may run beside
	// others. At most one that does not say so is under way per volume.
	Compatible bool             `json:"compatible,omitempty"`
	Steps      []TransitionStep `json:"steps"`

	Title   string         `json:"title,omitempty"`   // what it does, for people: "move db-1/0 from n1 to n3"
	Devices []VolumeDevice `json:"devices,omitempty"` // the sizes that a resize leads to
	Member  *int           `json:"member,omitempty"`  // the one replica that acts for all in the active step
	Abort   string         `json:"abort,omitempty"`   // why it is being given up; empty: it is not

	Repair string `json:"repair,omitempty"` // why it was begun without being asked for, as a word; empty: it was asked for

	// Was is the configuration that the volume had before a change of its layout.
	Was           *Configuration `json:"was,omitempty"`
	WasGeneration int64          `json:"was_generation,omitempty"`
}

// StepStatus tells how far a step has come.
type StepStatus string

// The states of a step.
const (
	StepPending   StepStatus = "Pending"
	StepActive    StepStatus = "Active"
	StepCompleted StepStatus = "Completed"
)

// TransitionStep is one step of a transition.
type TransitionStep struct {
	Name        string     `json:"name"`
	Status      StepStatus `json:"status"`
	Message     string     `json:"message,omitempty"` // what is waited for, and for whom
	Revision    int64      `json:"revision,omitempty"`
	StartedAt   time.Time  `json:"started_at,omitzero"`
	CompletedAt time.Time  `json:"completed_at,omitzero"`

	Replica    *int          `json:"replica,omitempty"`    // the id of the one that the step is about
	Type       ReplicaType   `json:"type,omitempty"`       // what its replica becomes
	Redundancy int           `json:"redundancy,omitempty"` // the quorum-minimum-redundancy that it leads to
	To         *ReplicaPlace `json:"to,omitempty"`         // where its replica was asked to go
}

// ReplicaPlace is where a replica is to be. What is empty may be chosen.
type ReplicaPlace struct {
	Node     string `json:"node,omitempty"`
	VG       string `json:"vg,omitempty"`
	ThinPool string `json:"thin_pool,omitempty"`
}

// String is NODE/VG/THINPOOL, as far as it is said.
func (p ReplicaPlace) String() string {
	return strings.Trim(p.Node+"/"+p.VG+"/"+p.ThinPool, "/")
}

// Is says whether the step is about the replica with the given id.
func (s *TransitionStep) Is(id int) bool { return s.Replica != nil && *s.Replica == id }

// Active returns the index of the active step, or -1.
func (t *Transition) Active() int {
	for i, s := range t.Steps {
		if s.Status == StepActive {
			return i
		}
	}
	return -1
}

// Step returns the step of that name; nil: the transition has none.
func (t *Transition) Step(name string) *TransitionStep {
	for i := range t.Steps {
		if t.Steps[i].Name == name {
			return &t.Steps[i]
		}
	}
	return nil
}

// PendingReplicaTransition is what a replica asks of the mesh (seed 001).
type PendingReplicaTransition struct {
	ID              int         `json:"id"`
	Request         string      `json:"request"` // Join, Leave, ChangeRole ...
	Type            ReplicaType `json:"type,omitempty"`
	Message         string      `json:"message,omitempty"`
	FirstObservedAt time.Time   `json:"first_observed_at"`
}
