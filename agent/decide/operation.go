package decide

import (
	"fmt"
	"maps"
	"slices"

	"rvol/drbd"
)

// operations runs the first granted operation on this replica that has not
// ended.
func (p *planner) operations(r Resource, want string, state *ReplicaState) *Refusal {
	if len(p.plan.Steps) > 0 {
		return nil
	}
	for _, op := range p.in.Desired.Operations {
		if op.ReplicaUID != r.ReplicaUID || p.in.Facts.Operations[op.ID].Result != nil {
			continue
		}
		var step Step
		var waiting string
		switch {
		case op.NewUUID != nil:
			step, waiting = p.newUUID(op, r, want)
		case op.WithPeer != nil:
			step, waiting = p.onPeer(op, r)
		default:
			continue
		}
		if step != nil {
			p.add(step)
		} else {
			state.Step = "operation " + op.ID + " waits: " + waiting
		}
		return nil
	}
	return nil
}

// newUUID is the guard of the one command that declares disks equal. It
// answers with the command, with how the operation ended, or with what it
// waits for.
func (p *planner) newUUID(op Operation, r Resource, want string) (step Step, waiting string) {
	if op.NewUUID.Revision != r.Revision || !r.Member || !p.applied(r, want) {
		return nil, fmt.Sprintf("the node runs another revision than %d", op.NewUUID.Revision)
	}
	if failed := p.grantFits(op, r); failed != "" {
		return Finish{Result{ID: op.ID, Text: failed}}, ""
	}
	todo, why := p.unborn(r)
	if why != "" {
		return nil, why
	}
	if result, over := p.outcome(op, r, todo); over {
		return Finish{result}, ""
	}
	if why := p.peersReady(op, todo); why != "" {
		return nil, why
	}
	alone := len(r.Peers) == 0
	s := NewCurrentUUID{Target: r.target(alone), Operation: op.ID, Sync: drbd.FullInitialSync}
	// Without a peer, DRBD 8.4 takes new-current-uuid --clear-bitmap and leaves the disk
	// Inconsistent; there is nobody to sync either.
	if op.NewUUID.ClearBitmap && (!alone || !p.in.Observed.DRBD.Is84()) {
		s.Sync = drbd.SkipInitialSync
	}
	for _, d := range todo {
		s.Devices = append(s.Devices, d.Minor)
	}
	return s, ""
}

// outcome says how an operation ended that must not run, or not again.
func (p *planner) outcome(op Operation, r Resource, todo []Device) (_ Result, over bool) {
	started := p.in.Facts.Operations[op.ID].Started
	switch {
	case started && len(todo) == 0:
		return Result{ID: op.ID, Succeeded: true, Interrupted: true, Text: "was interrupted; the devices have their first data generation"}, true
	case !started && len(todo) < len(r.Devices):
		return Result{ID: op.ID, Text: "not run: " + r.Name + " is not just created"}, true
	}
	return Result{}, false
}

// grantFits says why the grant can never be used on this replica.
func (p *planner) grantFits(op Operation, r Resource) string {
	if r.Formed {
		return "not run: volume " + r.Volume + " is formed"
	}
	if r.Type != Diskful || len(op.NewUUID.LVUUIDs) != len(r.Devices) {
		return "not run: the grant names other devices than the replica has"
	}
	var diskful []drbd.NodeID
	for _, peer := range r.Peers {
		if peer.Type == Diskful {
			diskful = append(diskful, peer.ID)
		}
	}
	granted := slices.Clone(op.NewUUID.Peers)
	slices.Sort(granted)
	slices.Sort(diskful)
	if !slices.Equal(granted, diskful) {
		return fmt.Sprintf("not run: the grant is for peers %v, the replica has %v", granted, diskful)
	}
	for i, d := range r.Devices {
		fact := p.in.Facts.Backings[d.Backing.Reservation]
		switch {
		case fact.LVUUID == "" || fact.LVUUID != op.NewUUID.LVUUIDs[i]:
			return fmt.Sprintf("not run: device %d is on LV %q, the grant is for %q", d.Number, fact.LVUUID, op.NewUUID.LVUUIDs[i])
		case !fact.MetaMade:
			return fmt.Sprintf("not run: metadata of device %d was not made by this agent", d.Number)
		}
	}
	return ""
}

// unborn are the devices whose current UUID is the just-created one.
func (p *planner) unborn(r Resource) (todo []Device, why string) {
	for _, d := range r.Devices {
		uuid := p.in.Facts.Backings[d.Backing.Reservation].LVUUID
		md, known := p.in.Observed.Metadata[uuid]
		dev, _ := p.up.Device(d.Number)
		switch {
		case len(r.Peers) == 0 && !p.in.Observed.DRBD.Is84():
			// DRBD 9 tells generations through a peer only; a disk that
			// never had one is Inconsistent until its first generation.
			if dev.Disk == drbd.Inconsistent {
				todo = append(todo, d)
			}
		case !known || !md.Attached || !p.attached(d):
			return nil, fmt.Sprintf("the data generation of device %d could not be read", d.Number)
		case md.Current == drbd.JustCreated && dev.Disk == drbd.Inconsistent:
			todo = append(todo, d)
		case md.Current == drbd.JustCreated:
			return nil, fmt.Sprintf("device %d is %s, want Inconsistent", d.Number, dev.Disk)
		}
	}
	return todo, ""
}

// peersReady says which peer is not connected and Inconsistent.
func (p *planner) peersReady(op Operation, todo []Device) string {
	for _, id := range op.NewUUID.Peers {
		ask := id
		if p.in.Observed.DRBD.Is84() {
			ask = 0 // it has one peer and does not know its id
		}
		peer, ok := p.up.Peer(ask)
		if !ok || peer.Conn != drbd.Connected {
			return fmt.Sprintf("peer %s is not connected", id)
		}
		for _, d := range todo {
			pd, _ := peer.Device(d.Number)
			if pd.Disk != drbd.Inconsistent || pd.Repl != drbd.Established {
				return fmt.Sprintf("device %d of peer %s is %s %s, want Inconsistent Established", d.Number, id, pd.Disk, pd.Repl)
			}
		}
	}
	return ""
}

// createVG runs an operation that belongs to no resource.
func (p *planner) createVG(op Operation) {
	fact := p.in.Facts.Operations[op.ID]
	if fact.Result != nil || op.CreateVG == nil {
		return
	}
	if p.in.Observed.NoLVM != "" || p.in.Observed.LVMError != "" {
		return // looked at again when LVM is known
	}
	i := slices.IndexFunc(p.in.Observed.VGs, func(v VG) bool { return v.Name == op.CreateVG.VG })
	if i >= 0 && !fact.Started {
		p.add(Finish{Result{ID: op.ID, Text: "not run: a volume group " + op.CreateVG.VG + " exists"}})
		return
	}
	pool := i >= 0 && slices.ContainsFunc(p.in.Observed.VGs[i].ThinPools, func(t ThinPool) bool { return t.Name == op.CreateVG.ThinPool })
	if i >= 0 && (op.CreateVG.ThinPool == "" || pool) {
		p.add(Finish{Result{ID: op.ID, Succeeded: true, Interrupted: true, Text: "was interrupted; the volume group is there"}})
		return
	}
	p.add(MakeVG{Operation: op.ID, CreateVG: *op.CreateVG, Interrupted: fact.Started})
}

// A Look is metadata to be read before Next can tell what to do.
type Look struct {
	LV     LV
	Minor  drbd.Minor
	Number int // device
	// Attached: ask the kernel, through a peer where DRBD 9 needs one.
	Attached bool
	Peer     drbd.NodeID
	Target   Target
}

// Looks lists the metadata that matter for a key, given all else that is
// known of the machine.
func Looks(in Input, key string) []Look {
	p := looker(in, key)
	var looks []Look
	if r, ok := in.Desired.Resource(key); ok {
		looks = p.resourceLooks(r)
	} else if r, ok := in.forgotten(key); ok && !p.isUp && !in.Facts.WasUp {
		looks = p.resourceLooks(r)
	}
	for _, rel := range in.Desired.Releases {
		if rel.Resource != key || p.isUp {
			continue
		}
		if lv, gone, why := p.released(rel); !gone && why == nil && lv.Active && !lv.Open {
			looks = append(looks, Look{LV: lv, Minor: spareMinor(lv)})
		}
	}
	return looks
}

func (p *planner) resourceLooks(r Resource) []Look {
	var looks []Look
	for _, d := range r.Devices {
		if d.Backing == nil {
			continue
		}
		if look, wanted := p.deviceLook(r, d); wanted {
			looks = append(looks, look)
		}
	}
	return looks
}

// deviceLook is how the current UUID of one device is read, if it is to be known.
func (p *planner) deviceLook(r Resource, d Device) (Look, bool) {
	lv, _, why := p.backing(*d.Backing)
	dev, _ := p.up.Device(d.Number)
	look := Look{LV: lv, Minor: d.Minor, Number: d.Number, Target: r.target(false)}
	switch {
	case why != nil || lv.UUID == "" || !lv.Active:
		return look, false
	case !p.attached(d):
		fact := p.in.Facts.Backings[d.Backing.Reservation]
		return look, !fact.of(lv) || fact.MetaMade // else there is none yet
	case r.Formed:
		peer, asked := p.asksGenerations(r)
		look.Attached, look.Peer = true, peer
		return look, asked
	case p.in.Observed.DRBD.Is84():
		look.Attached = dev.Disk != ""
		return look, true
	case len(p.up.Peers) > 0:
		look.Attached, look.Peer = true, p.up.Peers[0].NodeID
		return look, true
	}
	return look, false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
