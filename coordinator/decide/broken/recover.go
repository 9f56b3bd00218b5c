package broken

import (
	"fmt"
	"slices"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Recover takes a copy as good that is not by its own account, when every better one is gone
// for good: fenced or lost first.
func Recover(in Input, from int) (Outcome, error) {
	chosen, err := in.chosen(from)
	if err != nil {
		return Outcome{}, err
	}
	if why := nothingToRecover(in, chosen); why != "" {
		return Outcome{}, busy("%s", why)
	}
	out := Outcome{Cause: fmt.Sprintf("volume %s: go on with replica %d on %s as it is", in.Volume.Name, from, chosen.Node)}
	out.Lost = append(out.Lost, lacks(chosen))
	peer := from
	for _, c := range in.Copies {
		if c.ID == from {
			continue
		}
		if peer == from {
			peer = c.ID
		}
		lost, why := givenUp(in, chosen, c)
		if why != "" {
			return Outcome{}, busy("%s", why)
		}
		out.Lost = append(out.Lost, lost...)
	}
	if chosen.Disk() != drbd.UpToDate {
		out.Put = append(out.Put, operation(in, "recover", model.OperationForceUpToDate, chosen.Replica,
			&model.WithPeerParams{Peer: peer, Generations: chosen.generations()}))
	}
	vs := model.Clone(in.Status)
	vs.Recovered = &from
	if arbiter.Applies(vs) {
		vs.GoesAlone(from)
	}
	out.Put = append(out.Put, vs)
	return out, nil
}

// nothingToRecover says why the chosen copy needs no force, or force would not help.
func nothingToRecover(in Input, c Copy) string {
	disk := c.Disk()
	sole := in.Status.Sole == nil || *in.Status.Sole == c.ID
	switch {
	case disk == drbd.UpToDate && sole && quorate(c):
		return fmt.Sprintf("replica %d on %s is UpToDate: there is nothing to recover", c.ID, c.Node)
	case disk != drbd.UpToDate && disk != drbd.Consistent && disk != drbd.Outdated && disk != drbd.Inconsistent:
		return fmt.Sprintf("replica %d on %s is %s: it has no data to go on with", c.ID, c.Node, disk)
	case hasGoodPeer(c):
		return fmt.Sprintf("replica %d on %s is connected with a copy that is UpToDate; should that one have died just now, DRBD has not noticed yet: say it again in a moment", c.ID, c.Node)
	}
	return ""
}

// hasGoodPeer says that DRBD is connected with a copy that is UpToDate.
func hasGoodPeer(c Copy) bool {
	return slices.ContainsFunc(c.Resource.Peers, func(p inventory.Peer) bool {
		return p.Connection == drbd.Connected && slices.ContainsFunc(p.Devices, func(d inventory.PeerDevice) bool { return d.Disk == drbd.UpToDate })
	})
}

// quorate says that the kernel lets it serve; DRBD 8.4 knows no quorum.
func quorate(c Copy) bool {
	return !slices.ContainsFunc(c.Resource.Devices, func(d inventory.Device) bool { return !d.Quorum })
}

// lacks says what the chosen copy does not have, as far as it knows.
func lacks(c Copy) string {
	who := fmt.Sprintf("replica %d on %s is %s: ", c.ID, c.Node, c.Disk())
	if c.Disk() == drbd.Inconsistent {
		missing := int64(0)
		for _, p := range c.Resource.Peers {
			for _, d := range p.Devices {
				missing += d.OutOfSync
			}
		}
		return who + fmt.Sprintf("it was being copied to, and blocks of different times stand side by side (%d bytes are known to be missing); a filesystem on it has to be checked, and may be damaged", missing)
	}
	return who + map[drbd.DiskState]string{
		drbd.Outdated:   "what was acknowledged after it was left behind is lost",
		drbd.Consistent: "whether it has all that was acknowledged is not known",
		drbd.UpToDate:   "what others acknowledged without it is lost",
	}[c.Disk()]
}

// givenUp says what is lost with another copy, or why it is not to be given up.
func givenUp(in Input, chosen, c Copy) (lost []string, why string) {
	who := fmt.Sprintf("replica %d on %s", c.ID, c.Node)
	switch {
	case c.Known:
		return nil, preferred(c, chosen)
	case !c.Fenced:
		return nil, fmt.Sprintf("node %s is neither fenced nor lost, and its copy may be better: bring it back; or, if it is off for good, `rvol node lost %s`", c.Node, c.Node)
	}
	if in.Status.Sole != nil && *in.Status.Sole == c.ID {
		return []string{who + " went on alone: what it acknowledged since is lost"}, ""
	}
	return []string{who + ", which is fenced: what it alone holds is lost"}, ""
}

// preferred says why one that reports is to be gone on with instead.
func preferred(c, chosen Copy) string {
	who := fmt.Sprintf("replica %d on %s", c.ID, c.Node)
	switch {
	case c.Disk() == drbd.UpToDate && !c.Fenced:
		return who + " is UpToDate: it is the one to go on with"
	case c.Resource.Role == drbd.Primary:
		return who + " is Primary: it goes on by itself"
	case better(c, chosen):
		return fmt.Sprintf("%s is %s: it is better than replica %d, which is %s", who, c.Disk(), chosen.ID, chosen.Disk())
	}
	return ""
}

// rank orders disk states by how much can be said for the data.
var rank = map[drbd.DiskState]int{drbd.Inconsistent: 1, drbd.Outdated: 2, drbd.Consistent: 3, drbd.UpToDate: 4}

func better(c, than Copy) bool { return rank[c.Disk()] > rank[than.Disk()] }
