package formation

import (
	"fmt"
	"net/netip"
	"slices"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// join makes all replicas members in one transaction: secret, zones, addresses, quorum,
// and the next revision, which every member must then confirm.
func join(in Input, rs []Replica) Outcome {
	st := model.Clone(in.Status)
	zones := map[string]string{}
	for _, n := range in.Pool.EligibleNodes {
		zones[n.Node] = n.Zone
	}
	st.Datamesh.Members = nil
	for _, r := range rs {
		m := model.DatameshMember{
			ID: r.ID, Type: r.Type, Node: r.Node, HostName: r.HostName, Zone: zones[r.Node],
			Addresses: map[string]netip.AddrPort{},
		}
		for _, net := range st.Datamesh.SystemNetworks {
			m.Addresses[net] = netip.AddrPortFrom(r.Addresses[net], uint16(r.Port))
		}
		st.Datamesh.Members = append(st.Datamesh.Members, m)
	}
	slices.SortFunc(st.Datamesh.Members, func(a, b model.DatameshMember) int { return a.ID - b.ID })
	setQuorum(in, st, len(diskful(rs)))
	st.Datamesh.Revision++
	secret := &model.Secret{Value: in.Secret}
	secret.Name = model.VolumeSecret(in.Volume.Name)
	return advance(in, st, "connect replicas "+names(rs), secret)
}

// setQuorum sets what the kernel enforces. DRBD 8.4 has no quorum, and with one copy there is none to count.
func setQuorum(in Input, st *model.VolumeStatus, voters int) {
	st.Datamesh.Quorum, st.Datamesh.QuorumMinimumRedundancy = 0, 0
	if in.Status.DRBD == "8.4" || in.Layout.Quorum <= 1 {
		return
	}
	st.Datamesh.Quorum = in.Layout.FormationQuorum(voters)
	st.Datamesh.QuorumMinimumRedundancy = in.Layout.QuorumMinimumRedundancy
}

// establish waits until every member runs the mesh's revision, is connected to all, and
// is ready to be given its first data: Inconsistent and Established everywhere.
func establish(in Input) Outcome {
	if why := unready(in, active(in)); why != "" {
		return waitOr(in, stepTimeout, why)
	}
	return advance(in, model.Clone(in.Status), "all connected, Inconsistent and Established")
}

// unready says why the volume must not be given its first data generation; "": it may.
func unready(in Input, rs []Replica) string {
	var members []int
	for _, m := range in.Status.Datamesh.Members {
		members = append(members, m.ID)
	}
	if !slices.Equal(members, ids(rs)) {
		return fmt.Sprintf("members %v are not the replicas %v", members, ids(rs))
	}
	for _, check := range []func(Input, []Replica) string{eligible, configured, connected, bootstrapReady} {
		if why := check(in, rs); why != "" {
			return why
		}
	}
	return ""
}

func configured(in Input, rs []Replica) string {
	for _, r := range rs {
		switch {
		case !r.Known:
			return unknown(r)
		case r.State.Error != "":
			return fmt.Sprintf("replica %s: %s", name(r), r.State.Error)
		case r.State.AppliedRevision != in.Status.Datamesh.Revision:
			return fmt.Sprintf("replica %s: waiting for revision %d, it runs %d", name(r), in.Status.Datamesh.Revision, r.State.AppliedRevision)
		}
	}
	return ""
}

func connected(_ Input, rs []Replica) string {
	for _, r := range rs {
		for _, p := range rs {
			if r.ID == p.ID || (r.Type != model.Diskful && p.Type != model.Diskful) {
				continue // diskless replicas need no word with each other
			}
			if c := connection(r, p.ID, len(rs)); c != drbd.Connected {
				return fmt.Sprintf("replica %s is not connected to replica %s: %s", name(r), name(p), orElse(string(c), "no connection"))
			}
		}
	}
	return ""
}

// connection is how r's kernel sees its link to the replica with the given id. DRBD 8.4
// has one peer at most and does not say which.
func connection(r Replica, id, replicas int) drbd.ConnState {
	for _, p := range r.Resource.Peers {
		if p.NodeID == id || p.NodeID == int(drbd.NoNode) && replicas == 2 {
			return p.Connection
		}
	}
	return ""
}

func bootstrapReady(_ Input, rs []Replica) string {
	for _, r := range diskful(rs) {
		if disk := r.Resource.Disk(); disk != drbd.Inconsistent {
			return fmt.Sprintf("replica %s: disk is %s, want Inconsistent", name(r), disk)
		}
		if !r.State.JustCreated {
			return fmt.Sprintf("replica %s: its metadata is not just created", name(r))
		}
		for _, p := range r.Resource.Peers {
			for _, d := range p.Devices {
				if d.Replication != drbd.Established {
					return fmt.Sprintf("replica %s: replication is %s, want Established", name(r), d.Replication)
				}
			}
		}
	}
	return ""
}
