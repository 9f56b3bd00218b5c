package decide

import "rvol/drbd"

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
		LV       LV
		Alone    bool // it has no peer
	}
	// HoldSize keeps a device of DRBD 8.4 at the size it has, until Resize.
	HoldSize struct {
		Resource string
		Number   int
		Minor    drbd.Minor
		LV       LV
	}
	// RememberSize writes down that DRBD has taken the new size, metadata
	// included.
	RememberSize struct {
		Reservation string
		LV          LV
		Minor       drbd.Minor
	}
	// RememberFilled writes down that a device is being filled, or was: the peer is to be told anew when that is over.
	RememberFilled struct {
		Reservation, Resource string
		Number                int
	}
	// TellPeer tells DRBD 8.4's peer anew that a device was filled.
	TellPeer struct {
		Reservation, Resource string
		Number                int
		Minor                 drbd.Minor
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
	// Reconnect lets a copy that gets no data from a peer meet it anew.
	Reconnect struct {
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
func (HoldSize) step()        {}
func (RememberSize) step()    {}
func (RememberFilled) step()  {}
func (TellPeer) step()        {}
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
func (Reconnect) step()       {}
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
