package decide

import (
	"fmt"
	"strings"
	"time"

	"rvol/drbd"
)

// A Step is one thing to do. Every step may be repeated after a crash, or
// says in the journal that it was begun.
type Step interface {
	// String tells people what is being done.
	String() string
	step()
}

// A Target is a resource as the tools need to know it.
type Target struct {
	Resource string
	Minors   []drbd.Minor // by device
	Alone    bool         // its file names no peer
}

// The steps.
type (
	// CreateLV makes the volume of a reservation, or finishes making it.
	CreateLV struct {
		Cluster string
		Backing Backing
	}
	// GrowLV makes the volume of a reservation larger, and clears what DRBD
	// could take for metadata at its new end.
	GrowLV struct {
		Cluster string
		Backing Backing
		LV      LV
		Peers   int // bitmap slots in the metadata
	}
	// MoveMetadata moves the metadata to the end of a volume that was grown
	// and not resized, before it is attached.
	MoveMetadata struct {
		Reservation string
		LV          LV
		Minor       drbd.Minor
	}
	// Resize lets DRBD take what all its volumes have, on all nodes.
	Resize struct {
		Resource string
		Number   int
		Minor    drbd.Minor
	}
	// RememberSize writes down that DRBD has taken the new size, metadata
	// included.
	RememberSize struct {
		Reservation string
		LV          LV
		Minor       drbd.Minor
	}
	// ActivateLV makes the device node of a volume appear.
	ActivateLV struct{ LV LV }
	// MakeMetadata writes new metadata and binds it to the replica. Only for
	// a volume that this agent just made.
	MakeMetadata struct {
		Reservation string
		LV          LV
		Minor       drbd.Minor
		Peers       int
		Device      drbd.UUID
	}
	// WriteFile replaces a resource's .res file, once the tools agree with it.
	WriteFile struct {
		Target
		Text string
	}
	// RemoveFile removes a resource's .res file.
	RemoveFile struct{ Resource string }
	// Up brings a resource up, Secondary.
	Up struct{ Target }
	// Attach joins the disk of one device that lacks it.
	Attach struct {
		Target
		Number int
	}
	// Detach takes the disk from one device, which goes on without.
	Detach struct {
		Target
		Number int
		Minor  drbd.Minor
	}
	// Disconnect ends the one connection of DRBD 8.4, whose adjust would keep it.
	Disconnect struct{ Target }
	// ForgetPeers frees the bitmap slots of replicas that left.
	ForgetPeers struct {
		Target
		Peers []drbd.NodeID
	}
	// Adjust makes the kernel agree with the file, unless it would take away
	// more than Allow names.
	Adjust struct {
		Target
		Allow Allowed
	}
	// Primary promotes a resource. Ask: its peer is not there, so the
	// coordinators have the word.
	Primary struct {
		Target
		Ask bool
	}
	// Connect tries to reach a peer again that DRBD has given up.
	Connect struct {
		Target
		Peer drbd.NodeID
	}
	// ConfirmTogether looks whether both copies are together, after the order
	// of a round in which one of them could go on alone.
	ConfirmTogether struct {
		Resource string
		Round    int64
	}
	// Secondary demotes a resource.
	Secondary struct{ Target }
	// Down takes a resource down.
	Down struct{ Resource string }
	// WipeMetadata makes the metadata of a volume unrecognizable.
	WipeMetadata struct {
		LV    LV
		Minor drbd.Minor
	}
	// RemoveLV destroys a volume that was released.
	RemoveLV struct {
		Cluster     string
		Reservation string
		LV          LV
	}
	// Link makes a symlink. Name is below /dev, as in "rvol/db-1".
	Link struct{ Name, To string }
	// Unlink removes a symlink below /dev.
	Unlink struct{ Name string }
	// NewCurrentUUID runs an operation: the first data generation.
	NewCurrentUUID struct {
		Target
		Operation string
		Devices   []drbd.Minor // that have none yet
		Sync      drbd.InitialSync
	}
	// MakeVG runs an operation: a volume group, and perhaps a thin pool.
	MakeVG struct {
		Operation   string
		CreateVG    CreateVG
		Interrupted bool // by a crash, in an earlier run
	}
	// Finish writes down how an operation ended.
	Finish struct{ Result Result }
	// MeetAgain runs an operation: connect to a peer that DRBD has given up.
	MeetAgain struct {
		Target
		Operation string
		Peer      drbd.NodeID
		Discard   bool // what this copy was written since the two went apart
	}
	// TakeAsGood runs an operation: this copy is UpToDate from now on.
	TakeAsGood struct {
		Target
		Operation string
		Stay      bool // Primary, which DRBD makes it: it is in use
	}
	// Verify runs an operation: compare with a peer. It goes on after the step.
	Verify struct {
		Target
		Operation string
		Peer      drbd.NodeID
	}
	// Repair runs an operation: copy what a verify found. It goes on after the step.
	Repair struct {
		Target
		Operation string
		Peer      drbd.NodeID
	}
)

func (CreateLV) step()        {}
func (GrowLV) step()          {}
func (MoveMetadata) step()    {}
func (Resize) step()          {}
func (RememberSize) step()    {}
func (ActivateLV) step()      {}
func (MakeMetadata) step()    {}
func (WriteFile) step()       {}
func (RemoveFile) step()      {}
func (Up) step()              {}
func (Attach) step()          {}
func (Detach) step()          {}
func (Disconnect) step()      {}
func (ForgetPeers) step()     {}
func (Adjust) step()          {}
func (Primary) step()         {}
func (Connect) step()         {}
func (ConfirmTogether) step() {}
func (Secondary) step()       {}
func (Down) step()            {}
func (WipeMetadata) step()    {}
func (RemoveLV) step()        {}
func (Link) step()            {}
func (Unlink) step()          {}
func (NewCurrentUUID) step()  {}
func (MakeVG) step()          {}
func (Finish) step()          {}
func (MeetAgain) step()       {}
func (TakeAsGood) step()      {}
func (Verify) step()          {}
func (Repair) step()          {}

// String tells people what is being done.
func (s CreateLV) String() string {
	return fmt.Sprintf("create LV %s/%s of %d bytes", s.Backing.VG, s.Backing.LV, s.Backing.Size)
}

// String tells people what is being done.
func (s GrowLV) String() string {
	return fmt.Sprintf("grow LV %s/%s to %d bytes", s.LV.VG, s.LV.Name, s.Backing.Size)
}

// String tells people what is being done.
func (s MoveMetadata) String() string {
	return "move metadata to the end of " + s.LV.VG + "/" + s.LV.Name
}

// String tells people what is being done.
func (s Resize) String() string { return fmt.Sprintf("resize %s/%d", s.Resource, s.Number) }

// String tells people what is being done.
func (s RememberSize) String() string { return "remember size of " + s.LV.VG + "/" + s.LV.Name }

// String tells people what is being done.
func (s ActivateLV) String() string { return "activate LV " + s.LV.VG + "/" + s.LV.Name }

// String tells people what is being done.
func (s MakeMetadata) String() string {
	return "create metadata on " + s.LV.VG + "/" + s.LV.Name
}

// String tells people what is being done.
func (s WriteFile) String() string { return "write file of " + s.Resource }

// String tells people what is being done.
func (s RemoveFile) String() string { return "remove file of " + s.Resource }

// String tells people what is being done.
func (s Up) String() string { return "bring up " + s.Resource }

// String tells people what is being done.
func (s Attach) String() string { return fmt.Sprintf("attach disk of %s/%d", s.Resource, s.Number) }

// String tells people what is being done.
func (s Detach) String() string { return fmt.Sprintf("detach disk of %s/%d", s.Resource, s.Number) }

// String tells people what is being done.
func (s Disconnect) String() string { return "disconnect " + s.Resource + " from the copy that left" }

// String tells people what is being done.
func (s ForgetPeers) String() string {
	return fmt.Sprintf("forget peers of %s that left: %v", s.Resource, s.Peers)
}

// String tells people what is being done.
func (s Adjust) String() string { return "adjust " + s.Resource }

// String tells people what is being done.
func (s Primary) String() string { return "make " + s.Resource + " Primary" }

// String tells people what is being done.
func (s Connect) String() string {
	return fmt.Sprintf("connect %s to replica %s again", s.Resource, s.Peer)
}

// String tells people what is being done.
func (s ConfirmTogether) String() string {
	return fmt.Sprintf("see that both copies of %s are together (round %d)", s.Resource, s.Round)
}

// String tells people what is being done.
func (s Secondary) String() string { return "make " + s.Resource + " Secondary" }

// String tells people what is being done.
func (s Down) String() string { return "take down " + s.Resource }

// String tells people what is being done.
func (s WipeMetadata) String() string { return "wipe metadata of " + s.LV.VG + "/" + s.LV.Name }

// String tells people what is being done.
func (s RemoveLV) String() string { return "remove LV " + s.LV.VG + "/" + s.LV.Name }

// String tells people what is being done.
func (s Link) String() string { return "link " + s.Name + " to " + s.To }

// String tells people what is being done.
func (s Unlink) String() string { return "unlink " + s.Name }

// String tells people what is being done.
func (s NewCurrentUUID) String() string {
	return fmt.Sprintf("create the first data generation of %s (operation %s)", s.Resource, s.Operation)
}

// String tells people what is being done.
func (s MakeVG) String() string {
	return fmt.Sprintf("create volume group %s on %s (operation %s)", s.CreateVG.VG, s.CreateVG.Device, s.Operation)
}

// String tells people what is being done.
func (s Finish) String() string { return "finish operation " + s.Result.ID }

// String tells people what is being done.
func (s MeetAgain) String() string {
	if s.Discard {
		return fmt.Sprintf("connect %s to replica %s, giving up what was written here alone (operation %s)", s.Resource, s.Peer, s.Operation)
	}
	return fmt.Sprintf("connect %s to replica %s (operation %s)", s.Resource, s.Peer, s.Operation)
}

// String tells people what is being done.
func (s TakeAsGood) String() string {
	return fmt.Sprintf("take the data of %s here as good (operation %s)", s.Resource, s.Operation)
}

// String tells people what is being done.
func (s Verify) String() string {
	return fmt.Sprintf("compare %s with replica %s (operation %s)", s.Resource, s.Peer, s.Operation)
}

// String tells people what is being done.
func (s Repair) String() string {
	return fmt.Sprintf("copy what differs between %s and replica %s (operation %s)", s.Resource, s.Peer, s.Operation)
}

// A Refusal is why something cannot be done.
type Refusal struct {
	Class    string
	Text     string // with the next step for people
	Definite bool   // waiting will not cure it
}

// The classes of refusals.
const (
	NoSpace = "no-space"
	NoTool  = "no-tool"
	InUse   = "in-use"
	Foreign = "foreign"
	Stuck   = "stuck"
	Refused = "refused"
	Other   = "other"
)

// Error gives the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(class, format string, args ...any) *Refusal {
	return &Refusal{Class: class, Text: fmt.Sprintf(format, args...)}
}

func refuseForGood(class, format string, args ...any) *Refusal {
	r := refuse(class, format, args...)
	r.Definite = true
	return r
}

// A Plan is what to do about one key now. Its steps are carried out in order;
// after the last, or after one that failed, the machine is looked at again.
type Plan struct {
	Steps    []Step
	States   []ReplicaState
	Released []string // reservations whose volume is proven gone
}

// String lists the steps, one per line.
func (p Plan) String() string {
	var b strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

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
