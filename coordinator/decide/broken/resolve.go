package broken

import (
	"fmt"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Outcome is what is to be written, and what is given up by it.
type Outcome struct {
	Put   []model.Object
	Cause string
	Lost  []string // for people, before they say that they mean it
}

// Resolve ends a split brain: what the copies that went apart from keep were written alone is
// given up. What is in use is never given up.
func Resolve(in Input, keep int) (Outcome, error) {
	kept, err := in.chosen(keep)
	if err != nil {
		return Outcome{}, err
	}
	if disk := kept.Disk(); disk != drbd.UpToDate {
		return Outcome{}, busy("replica %d on %s is %s: only a copy that is UpToDate can be kept; `rvol volume recover %s --from %d` takes it as it is",
			keep, kept.Node, orUnknown(disk), in.Volume.Name, keep)
	}
	out := Outcome{Cause: fmt.Sprintf("volume %s: keep replica %d on %s", in.Volume.Name, keep, kept.Node)}
	for _, c := range in.Copies {
		if c.ID == keep || !Split(c, kept) {
			continue
		}
		if why := mayLose(in, c); why != "" {
			return Outcome{}, busy("%s", why)
		}
		from, _ := c.From(keep)
		out.Lost = append(out.Lost, fmt.Sprintf("replica %d on %s gives up what it was written alone: %d bytes, apart since %s",
			c.ID, c.Node, Missing(from), from.Since.UTC().Format("2006-01-02 15:04:05 UTC")))
		out.Put = append(out.Put,
			operation(in, "discard", model.OperationDiscardChanges, c.Replica, &model.WithPeerParams{Peer: keep, Generations: c.generations()}),
			operation(in, "reconnect", model.OperationReconnect, kept.Replica, &model.WithPeerParams{Peer: c.ID}))
	}
	if len(out.Put) == 0 {
		return Outcome{}, busy("no copy is seen to have been written apart from replica %d: a split brain is seen when both sides report, and both were written alone", keep)
	}
	return out.alone(in, keep), nil
}

// mayLose says why what a copy was written alone may not be given up.
func mayLose(in Input, c Copy) string {
	switch {
	case c.Resource.Role == drbd.Primary:
		return fmt.Sprintf("replica %d on %s is Primary: what is in use is not given up; detach it there first: `rvol volume detach %s %s`", c.ID, c.Node, in.Volume.Name, c.Node)
	case c.Used != "":
		return fmt.Sprintf("replica %d on %s is in use (%s): detach it there first: `rvol volume detach %s %s`", c.ID, c.Node, c.Used, in.Volume.Name, c.Node)
	}
	return ""
}

// chosen is the copy that people named.
func (in Input) chosen(id int) (Copy, error) {
	c, ok := in.copyOf(id)
	switch {
	case in.Volume.Deleting():
		return c, busy("it is being deleted")
	case in.Volume.Stopped:
		return c, busy("it is stopped: `rvol volume start %s`", in.Volume.Name)
	case !in.Status.Formed:
		return c, busy("it is not formed yet")
	case !ok:
		return c, fmt.Errorf("%w: it has no copy %d: see `rvol volume show %s`", model.ErrInvalid, id, in.Volume.Name)
	case !c.Known:
		return c, busy("there is no report from node %s, which holds replica %d", c.Node, id)
	case !c.Up:
		return c, busy("replica %d is not up on node %s", id, c.Node)
	}
	return c, nil
}

// alone lets, on DRBD 8.4, no other copy be used before it has what the chosen one has.
func (out Outcome) alone(in Input, id int) Outcome {
	if arbiter.Applies(in.Status) {
		vs := model.Clone(in.Status)
		vs.GoesAlone(id)
		out.Put = append(out.Put, vs)
	}
	return out
}

// operation is a grant to the node of a replica; its name is taken again by the next of its kind.
func operation(in Input, verb, kind string, r *model.Replica, with *model.WithPeerParams) *model.Operation {
	op := &model.Operation{
		Type: kind, Node: r.Node, Volume: in.Volume.Name, Replica: r.ID, Peer: with, Phase: model.OperationPending,
	}
	op.Name, op.CreatedAt = fmt.Sprintf("%s-%s-%d-%d", in.Volume.Name, verb, r.ID, with.Peer), in.Now
	return op
}

func busy(format string, args ...any) error {
	return fmt.Errorf("%w: %s", model.ErrBusy, fmt.Sprintf(format, args...))
}

func orUnknown(d drbd.DiskState) string {
	if d == "" {
		return "not known"
	}
	return string(d)
}
