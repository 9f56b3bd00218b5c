package transition

import (
	"fmt"
	"slices"

	"rvol/coordinator/model"
)

// plans are all plans that this binary knows.
var plans = []*plan{
	&resizeV1, &addDiskfulV1, &removeDiskfulV1, &replaceDiskfulV1, &forceRemoveV1,
	&addAccessV1, &removeAccessV1, &addTieBreakerV1, &removeTieBreakerV1, &retypeV1, &changeBackingV1, &changeLayoutV1, &repairDiskfulV1, &repairTieBreakerV1,
}

// membership are the steps that changes of the mesh are made of.
var membership = []step{
	placeReplica, joinMesh, gainVote, attachDisk, synchronize,
	detachDisk, loseVote, leaveMesh, releaseReplica, lowerRedundancy, raiseRedundancy,
	makeBacking, dropBacking, swapBacking, changePart,
}

// mayStart says why no change of the volume may begin now. One that moves no data may
// begin beside others.
func mayStart(in Input, compatible bool) error {
	switch {
	case in.Volume.Deleting():
		return fmt.Errorf("%w: it is being deleted", model.ErrBusy)
	case !in.Status.Formed:
		return fmt.Errorf("%w: it is not formed yet", model.ErrBusy)
	case in.Volume.Stopped:
		return fmt.Errorf("%w: it is stopped: `rvol volume start %s`", model.ErrBusy, in.Volume.Name)
	}
	for i := range in.Status.Transitions {
		if t := &in.Status.Transitions[i]; !compatible && !t.Compatible {
			return fmt.Errorf("%w: %s (%s) is under way", model.ErrBusy, what(in, t), t.Plan)
		}
	}
	return nil
}

// begun is the outcome that starts a change.
func (p *plan) begun(in Input, d *draft, title string, s *script) Outcome {
	s.takeVotes()
	d.status.Transitions = append(slices.Clone(d.status.Transitions), p.start(in.Now, title, s.steps))
	return d.outcome(title + ": begin")
}

// newReplica writes the record of a replica to be.
func (d *draft) newReplica(in Input, typ model.ReplicaType, node string) (*model.Replica, error) {
	var taken []int
	for _, m := range in.Members {
		taken = append(taken, m.ID)
	}
	for _, m := range in.Status.Datamesh.Members {
		taken = append(taken, m.ID)
	}
	for _, o := range d.put {
		if r, ok := o.(*model.Replica); ok {
			taken = append(taken, r.ID)
		}
	}
	id, next, ok := model.FreeReplicaID(d.status.NextID, taken)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: no replica id is free: 32 replicas are still there or being removed", model.ErrBusy)
	case len(d.put) >= len(in.UIDs):
		return nil, fmt.Errorf("%w: no fresh uid for a replica", model.ErrInvalid)
	}
	d.status.NextID = next
	r := &model.Replica{Volume: in.Volume.Name, ID: id, Type: typ, Node: node}
	r.Name, r.UID, r.CreatedAt = model.ReplicaName(in.Volume.Name, id), in.UIDs[len(d.put)], in.Now
	d.put = append(d.put, r)
	return r, nil
}

// there finds a replica that a change is to be about.
func (in Input) there(id int) (Member, error) {
	m, ok := in.replica(id)
	switch {
	case !ok:
		return m, fmt.Errorf("%w: it has no replica %d", model.ErrInvalid, id)
	case m.Deleting() || Leaving(in.Status, id):
		return m, fmt.Errorf("%w: replica %s is being removed already", model.ErrBusy, m.Name)
	}
	return m, nil
}

// free says why a replica may not come to a place.
func (in Input) free(to model.ReplicaPlace) error {
	for _, m := range in.Members {
		if m.Node == to.Node && to.Node != "" {
			if m.Deleting() {
				return fmt.Errorf("%w: replica %s is still being removed from node %s", model.ErrBusy, m.Name, to.Node)
			}
			return fmt.Errorf("%w: node %s has replica %s already", model.ErrInvalid, to.Node, m.Name)
		}
	}
	return nil
}

func somewhere(to model.ReplicaPlace) string {
	if s := to.String(); s != "" {
		return "to " + s
	}
	return "to where there is room"
}

// Remove begins to remove a replica of any type.
func Remove(in Input, id int) (Outcome, error) {
	m, ok := in.replica(id)
	switch {
	case ok && m.Type == model.Access:
		return RemoveAccess(in, id)
	case ok && m.Type == model.TieBreaker:
		return RemoveTieBreaker(in, id)
	}
	return RemoveDiskful(in, id)
}
