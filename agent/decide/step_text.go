package decide

import "fmt"

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
func (s HoldSize) String() string { return fmt.Sprintf("hold the size of %s/%d", s.Resource, s.Number) }
func (s Resize) String() string   { return fmt.Sprintf("resize %s/%d", s.Resource, s.Number) }

// String tells people what is being done.
func (s RememberSize) String() string { return "remember size of " + s.LV.VG + "/" + s.LV.Name }

// String tells people what is being done.
func (s RememberFilled) String() string {
	return fmt.Sprintf("remember that %s/%d is being filled", s.Resource, s.Number)
}

// String tells people what is being done.
func (s TellPeer) String() string {
	return fmt.Sprintf("tell the peer of %s/%d anew that it is filled", s.Resource, s.Number)
}

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
func (s Reconnect) String() string {
	return fmt.Sprintf("meet replica %s of %s anew: it has good data, and gives none", s.Peer, s.Resource)
}

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
