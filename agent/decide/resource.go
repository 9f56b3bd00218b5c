package decide

import (
	"cmp"
	"fmt"
	"strings"

	"rvol/drbd"
)

// resource compares one replica with what is there.
func (p *planner) resource(r Resource) {
	state := ReplicaState{Volume: r.Volume, ReplicaUID: r.ReplicaUID, PrimaryAllowed: p.in.Facts.Confirmed}
	before := len(p.plan.Steps)
	want, why := p.check(r)
	if why == nil {
		bare, lost := p.bare(r)
		if lost != nil {
			r, want = bare, p.text(bare)
		}
		why = cmp.Or(lost, p.converge(r, want, &state))
	}
	if why != nil {
		state.Refuse(why)
	}
	if n := len(p.plan.Steps); n > before {
		state.Step = p.plan.Steps[before].String()
	}
	p.report(r, want, &state)
	p.plan.States = append(p.plan.States, state)
}

// check says why nothing at all can be done, or what the file must say.
func (p *planner) check(r Resource) (want string, why *Refusal) {
	v := p.in.Observed.DRBD
	if !nameRE.MatchString(r.Name) || !nameRE.MatchString(r.Volume) {
		return "", refuseForGood(Refused, "%q, %q: no name of a resource or volume", r.Name, r.Volume)
	}
	if why := p.drbdUsable(); why != nil {
		return "", why
	}
	if r.DRBD != "" && (r.DRBD == "8.4") != v.Is84() {
		return "", refuse(NoTool, "volume %s runs DRBD %s, this node has %s", r.Volume, r.DRBD, v)
	}
	for _, d := range r.Devices {
		if d.Backing == nil && r.attaches() {
			return "", refuseForGood(Refused, "device %d of a %s replica: it has nothing to stand on", d.Number, r.Type)
		}
	}
	want, err := r.File(v)
	if err != nil {
		return "", refuseForGood(Refused, "make the file of %s: %v", r.Name, err)
	}
	return want, p.ownership(r)
}

// ownership refuses a resource that is up and not ours to touch.
func (p *planner) ownership(r Resource) *Refusal {
	if !p.isUp {
		return nil
	}
	if p.hasFile && p.owner.Replica == r.ReplicaUID {
		return nil
	}
	if p.hasFile && p.owner.Replica != "" {
		return refuse(Foreign, "resource %s is up for replica %s, which the order does not release", r.Name, p.owner.Replica)
	}
	if p.up.NodeID != drbd.NoNode && p.up.NodeID != r.ReplicaID {
		return refuse(Foreign, "resource %s is up with node-id %s, the replica's is %s: take it down if it is not needed", r.Name, p.up.NodeID, r.ReplicaID)
	}
	for _, d := range r.Devices {
		if up, ok := p.up.Device(d.Number); ok && up.Minor != d.Minor {
			return refuse(Foreign, "resource %s is up with minor %s, the replica's is %s: take it down if it is not needed", r.Name, up.Minor, d.Minor)
		}
	}
	return nil
}

// converge adds the steps that bring the resource nearer to the order.
func (p *planner) converge(r Resource, want string, state *ReplicaState) *Refusal {
	if done, why := p.demote(r, state); done || why != nil {
		return why
	}
	if r.Down {
		if !p.passive {
			if p.isUp {
				p.add(Down{Resource: r.Name})
			}
			p.unlinkAll(r.Volume)
		}
		return nil
	}
	return p.hold(r, want, state)
}

// hold brings it up, makes it what the order says, and lets it serve.
func (p *planner) hold(r Resource, want string, state *ReplicaState) *Refusal {
	ready, why := p.disks(r)
	p.holdSizes(r)
	switch {
	case why != nil && !r.goesOnWithout() || why == nil && !ready:
	case !p.isUp:
		p.bringUp(r, want)
	case p.adjust(r, want) || why != nil:
	default:
		p.link(r)
		p.arbitrated(r)
		p.tellPeer(r)
		why = p.serve(r, want, state)
		p.reconnect(r)
		p.meetAnew(r)
	}
	return why
}

// demote takes the Primary role away where it must go. done: nothing else is
// to be done now.
func (p *planner) demote(r Resource, state *ReplicaState) (done bool, why *Refusal) {
	if !p.isUp || p.up.Role != drbd.Primary {
		return false, nil
	}
	fenced := p.in.Desired.Fenced
	if !fenced && (p.passive || r.Primary && !r.Down) {
		return false, nil
	}
	if p.syncStarting() {
		state.Step = "waiting for the first sync of " + r.Name + " to start"
		return true, nil
	}
	what := "make " + r.Name + " Secondary"
	if fenced {
		what += " (node is fenced)"
	}
	if why := p.frozen(what); why != nil {
		return true, why
	}
	p.add(Secondary{r.target(p.owner.Peers == 0)})
	return true, nil
}

// syncStarting: DRBD 8.4 starts a first full sync by promotion, and must not
// be demoted before it runs.
func (p *planner) syncStarting() bool {
	for _, peer := range p.up.Peers {
		for _, d := range peer.Devices {
			if d.Repl == drbd.StartingSyncS || d.Repl == drbd.WFBitMapS {
				return true
			}
		}
	}
	return false
}

// disks sees to what the devices stand on. ready: DRBD may have them all.
func (p *planner) disks(r Resource) (ready bool, why *Refusal) {
	ready = true
	var steps []Step
	for _, d := range r.Devices {
		if d.Backing == nil {
			continue
		}
		lv, step, why := p.backing(*d.Backing)
		if p.attached(d) {
			if why != nil && why.Class == Foreign {
				return false, why
			}
			if grow, ok := step.(GrowLV); ok {
				steps = append(steps, grow)
			}
			continue // the kernel has it: what LVM does not tell is not needed
		}
		if why == nil && step == nil {
			step, why = p.disk(r, d, lv)
		}
		if why != nil {
			return false, why
		}
		if step != nil {
			steps = append(steps, step)
		}
		ready = ready && step == nil
	}
	p.add(steps...)
	return ready, nil
}

// attached says that the kernel has the device's disk.
func (p *planner) attached(d Device) bool {
	dev, ok := p.up.Device(d.Number)
	return p.isUp && ok && dev.Disk != drbd.Diskless && dev.Disk != ""
}

// bringUp brings up, from the file that is there when nothing may be changed.
func (p *planner) bringUp(r Resource, want string) {
	alone := len(r.Peers) == 0 || !r.Member
	switch kept := p.hasFile && p.owner.Replica == r.ReplicaUID; {
	case kept && p.passive:
		alone = p.owner.Peers == 0
	case p.file != want:
		p.add(WriteFile{Target: r.target(alone), Text: want})
	}
	p.add(Up{r.target(alone)})
	p.link(r)
}

// adjust makes the kernel agree with the order. True: it does not yet.
func (p *planner) adjust(r Resource, want string) bool {
	if p.passive || p.applied(r, want) {
		return false
	}
	t := r.target(len(r.Peers) == 0 || !r.Member)
	want = p.between(r, want)
	p.partFromLast(r, t)
	if p.file != want {
		p.add(WriteFile{Target: t, Text: want})
	}
	if p.in.Observed.DRBD.Is84() && t.Alone && !p.hasDevices(r) {
		p.add(Up{t}) // adjust does not make devices there
		return true
	}
	p.switchDisks(r, t)
	p.add(Adjust{Target: t, Allow: r.allowed(p.up)})
	p.forgetPeers(r, t)
	return true
}

// applied says that file and kernel are what the order wants.
func (p *planner) applied(r Resource, want string) bool {
	return p.file == want && p.in.Facts.Applied[r.Name] == want
}

// hasDevices says that the kernel has all devices, attached or not.
func (p *planner) hasDevices(r Resource) bool {
	for _, d := range r.Devices {
		if _, there := p.up.Device(d.Number); !there {
			return false
		}
	}
	return true
}

// serve promotes, and runs what operations the order grants.
func (p *planner) serve(r Resource, want string, state *ReplicaState) *Refusal {
	for _, d := range r.Devices {
		if r.attaches() && !p.attached(d) {
			return p.detached(r, d)
		}
	}
	p.resize(r, state)
	if p.up.Role != drbd.Primary && r.Primary && !p.in.Desired.Fenced && r.Formed {
		if why := p.mayPromote(r); why != "" {
			state.Step = why
		} else {
			p.add(Primary{Target: r.target(len(r.Peers) == 0), Ask: r.Arbitrated() && !p.connected()})
		}
	}
	if p.passive {
		return nil
	}
	return p.operations(r, want, state)
}

// mayPromote says what promotion waits for; "": nothing. Without a
// coordinator's word it is for DRBD's quorum to prevent two Primaries, or for
// there being no other replica.
func (p *planner) mayPromote(r Resource) string {
	sole := len(r.Peers) == 0
	quorum := !p.in.Observed.DRBD.Is84() && r.Quorum > 0
	if p.in.Facts.Confirmed || sole || quorum {
		return ""
	}
	return "waiting for a coordinator before " + r.Name + " becomes Primary"
}

// report fills in what is reached.
func (p *planner) report(r Resource, want string, state *ReplicaState) {
	runs := p.runs(r, want)
	attached, fresh := true, r.attaches() && p.isUp
	for _, d := range r.Devices {
		if d.Backing == nil {
			continue
		}
		b, never := p.reportBacking(d)
		attached = attached && p.stands(r, d, b)
		fresh = fresh && never
		state.Backing = append(state.Backing, b)
	}
	state.TogetherRound = p.in.Facts.Together[r.Name]
	state.Apart = p.apart(r)
	state.JustCreated = fresh
	if !r.Member {
		state.Preconfigured = runs && attached
	} else if stopped := r.Down && !p.isUp; runs || stopped {
		state.AppliedRevision = r.Revision
	}
}

// runs says that the kernel runs what the file is to say.
func (p *planner) runs(r Resource, want string) bool {
	return p.isUp && want != "" && p.applied(r, want)
}

// reportBacking tells what a device stands on, and whether it never held data.
func (p *planner) reportBacking(d Device) (b BackingState, fresh bool) {
	lv, _ := p.tagged(*d.Backing)
	dev, _ := p.up.Device(d.Number)
	b = BackingState{Number: d.Number, Reservation: d.Backing.Reservation, Usable: dev.Size}
	if !lv.Unfinished {
		b.LVUUID, b.LVSize = lv.UUID, lv.Size
	}
	if from := p.in.Facts.Backings[d.Backing.Reservation].Growing; from != 0 {
		b.LVSize = from // not before all of it is done
	}
	return b, p.justCreated(d, lv, dev)
}

// justCreated says that the device has never held data: this agent made its
// metadata under this reservation, and its generation is the first.
func (p *planner) justCreated(d Device, lv LV, dev drbd.Device) bool {
	fact := p.in.Facts.Backings[d.Backing.Reservation]
	if lv.UUID == "" || fact.LVUUID != lv.UUID || !fact.MetaMade || dev.Disk != drbd.Inconsistent {
		return false
	}
	// Without a peer nobody can be asked while it is attached.
	md, known := p.in.Observed.Metadata[lv.UUID]
	return !known || md.Err != "" || md.Current == drbd.JustCreated
}

// link makes the symlinks that are missing.
func (p *planner) link(r Resource) {
	for _, d := range r.Devices {
		for _, name := range LinkNames(r, d) {
			if to := devicePath(d.Minor); p.in.Observed.Links[name] != to {
				p.add(Link{Name: name, To: to})
			}
		}
	}
}

// unlinkAll removes the symlinks to the devices of the resource.
func (p *planner) unlinkAll(volume string) {
	for _, name := range sortedKeys(p.in.Observed.Links) {
		own := name == "rvol/"+volume || strings.HasPrefix(name, "rvol/"+volume+".") // volumes have no dots in their names
		if own || strings.HasPrefix(name, "drbd/by-res/"+p.key+"/") {
			p.add(Unlink{Name: name})
		}
	}
}

func devicePath(m drbd.Minor) string { return fmt.Sprintf("/dev/drbd%d", m) }

// LinkNames are the symlinks to a device, below /dev: our own, which is the
// volume's name for device 0, and the one that udev makes where it can.
func LinkNames(r Resource, d Device) []string {
	own := "rvol/" + r.Volume
	if d.Number != 0 {
		own = fmt.Sprintf("rvol/%s.%d", r.Volume, d.Number)
	}
	return []string{own, fmt.Sprintf("drbd/by-res/%s/%d", r.Name, d.Number)}
}
