package formation

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"rvol/coordinator/model"
)

// preconfigure creates the replicas, removes misplaced and excess ones, and waits until
// each is scheduled and its node has prepared it.
func preconfigure(in Input) Outcome {
	if out := count(in); out.Changed() || out.Wait != "" {
		return out
	}
	rs := active(in)
	for _, r := range rs {
		c, _ := r.Conditions.Get("Scheduled")
		if c.Status != model.True {
			// No deadline here: deleting replicas makes no room. The scheduler is woken when some appears.
			return Outcome{Wait: fmt.Sprintf("replica %s is not scheduled: %s", name(r), orElse(c.Message, "waiting for the scheduler"))}
		}
	}
	for _, check := range []func(Input, []Replica) string{prepared, addressed, eligible, asAsked, largeEnough} {
		if why := check(in, rs); why != "" {
			if working(rs) {
				// An agent is at work and reports no trouble: a slow tool is no reason to begin again.
				return Outcome{Wait: why}
			}
			return waitOr(in, stepTimeout, why)
		}
	}
	return join(in, rs)
}

// count makes the number of replicas right, the least progressed going first.
func count(in Input) Outcome {
	var gone, kept, deleting []Replica
	why := "no longer on an eligible node"
	for _, r := range in.Replicas {
		switch {
		case r.Deleting():
			deleting = append(deleting, r)
		case r.Node != "" && !r.Eligible:
			gone = append(gone, r)
			why = orElse(r.Lacks, why)
		default:
			kept = append(kept, r)
		}
	}
	for _, typ := range types {
		n := wanted(in.Layout, typ)
		of := slices.DeleteFunc(slices.Clone(kept), func(r Replica) bool { return r.Type != typ })
		if len(of) > n {
			sort.SliceStable(of, func(i, j int) bool { return progress(of[i]) < progress(of[j]) })
			gone, why = append(gone, of[:len(of)-n]...), "more replicas than the layout has"
		}
	}
	if len(gone) > 0 {
		return removeAll(in, gone, why)
	}
	return create(in, kept, deleting)
}

func removeAll(in Input, gone []Replica, why string) Outcome {
	out := Outcome{Cause: fmt.Sprintf("form %s: remove replica %s: %s", in.Volume.Name, names(gone), why)}
	for _, r := range gone {
		put, del := Remove(r, in.Now)
		out.Put, out.Delete = append(out.Put, put...), append(out.Delete, del...)
	}
	return out
}

// create makes the missing replicas, Diskful first.
func create(in Input, kept, deleting []Replica) Outcome {
	st := model.Clone(in.Status)
	var taken []int
	have := map[model.ReplicaType]int{}
	for _, r := range kept {
		taken, have[r.Type] = append(taken, r.ID), have[r.Type]+1
	}
	for _, r := range deleting {
		taken = append(taken, r.ID) // taken until it is proven gone
	}
	var out Outcome
	uids := in.UIDs
	for _, typ := range types {
		for have[typ] < wanted(in.Layout, typ) {
			id, next, ok := model.FreeReplicaID(st.NextID, taken)
			if !ok {
				return Outcome{Wait: "no free replica id: 32 replicas are still being removed"}
			}
			st.NextID = next
			r := &model.Replica{Volume: in.Volume.Name, ID: id, Type: typ}
			r.Name, r.UID, r.CreatedAt = model.ReplicaName(in.Volume.Name, id), uids[0], in.Now
			uids, taken, have[typ] = uids[1:], append(taken, id), have[typ]+1
			out.Put = append(out.Put, r)
		}
	}
	if !out.Changed() {
		return out
	}
	out.Cause = fmt.Sprintf("form %s: create %d replicas", in.Volume.Name, len(out.Put))
	out.Put = append(out.Put, st)
	return out
}

// progress orders replicas by how little is lost with them: not scheduled, not
// preconfigured, any; and among equals the highest id first.
func progress(r Replica) int {
	p := 0
	if r.Conditions.Is("Scheduled", model.True) {
		p = 1
	}
	if r.State.Preconfigured {
		p = 2
	}
	return p*(model.MaxReplicaID+1) + model.MaxReplicaID - r.ID
}

// unknown says of a replica why nothing is known of it.
func unknown(r Replica) string {
	return fmt.Sprintf("replica %s: %s", name(r), cmp.Or(r.Blind, "its agent has not reported"))
}

func prepared(_ Input, rs []Replica) string {
	for _, r := range rs {
		switch {
		case !r.Known:
			return unknown(r)
		case r.State.Error != "":
			return fmt.Sprintf("replica %s: %s", name(r), r.State.Error)
		case !r.State.Preconfigured && r.State.Step != "":
			return fmt.Sprintf("replica %s is being prepared: %s", name(r), r.State.Step)
		case !r.State.Preconfigured:
			return fmt.Sprintf("replica %s is not prepared yet", name(r))
		}
	}
	return ""
}

func addressed(in Input, rs []Replica) string {
	for _, r := range rs {
		for _, net := range in.Status.Datamesh.SystemNetworks {
			if !r.Addresses[net].IsValid() {
				return fmt.Sprintf("replica %s has no address on network %q: give its agent --address %s=IP", name(r), net, net)
			}
		}
	}
	return ""
}

func eligible(_ Input, rs []Replica) string {
	for _, r := range rs {
		if !r.Eligible {
			return fmt.Sprintf("replica %s is no longer on an eligible node", name(r))
		}
	}
	return ""
}

// asAsked compares what the agent prepared with what was asked of it.
func asAsked(_ Input, rs []Replica) string {
	for _, r := range diskful(rs) {
		for i, d := range r.Devices {
			if i >= len(r.State.Backing) || r.State.Backing[i].Reservation != d.Reservation {
				return fmt.Sprintf("replica %s: its agent prepared other storage than was reserved", name(r))
			}
		}
	}
	return ""
}

func largeEnough(in Input, rs []Replica) string {
	for _, r := range diskful(rs) {
		for i, d := range in.Status.Datamesh.Devices {
			if b := r.State.Backing[i]; b.Usable < d.Size {
				return fmt.Sprintf("replica %s: device %d has %d usable bytes, %d are needed", name(r), d.Number, b.Usable, d.Size)
			}
		}
	}
	return ""
}

// working says whether some agent is running a tool for its replica and none reports trouble.
func working(rs []Replica) bool {
	busy := false
	for _, r := range rs {
		if r.State.Error != "" {
			return false
		}
		busy = busy || r.Known && r.State.Step != ""
	}
	return busy
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// ids returns the ids of rs, sorted.
func ids(rs []Replica) []int {
	var out []int
	for _, r := range rs {
		out = append(out, r.ID)
	}
	slices.Sort(out)
	return out
}
