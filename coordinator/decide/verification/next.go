package verification

import (
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// Outcome is what is to be written, and what is waited for.
type Outcome struct {
	Put    []model.Object
	Delete []model.Object
	Cause  string
	Wait   string
	Again  time.Duration
}

// Changed says whether there is something to write.
func (o Outcome) Changed() bool { return len(o.Put)+len(o.Delete) > 0 }

// lookAgain is how soon a verification that is due and cannot begin is thought of again.
const lookAgain = 20 * time.Second

// Next takes a verification on, or begins one that is due.
func Next(in Input) Outcome {
	if !in.Status.Verification.Active() {
		return scheduled(in)
	}
	s := step{Input: in, status: model.Clone(in.Status)}
	s.v = s.status.Verification
	if why := s.over(); why != "" {
		return s.end(why)
	}
	c := s.current()
	if c == nil {
		return s.turn()
	}
	op := in.Operation
	switch {
	case op == nil || !s.about(op, c):
		return s.grant(c)
	case !op.Over():
		return Outcome{Wait: fmt.Sprintf("node %s: %s with replica %d", op.Node, op.Type, c.ID)}
	case s.v.Phase == model.Comparing:
		return s.compared(c)
	}
	return s.repaired(c)
}

// scheduled begins what is due.
func scheduled(in Input) Outcome {
	at, ok := Due(in.Volume, in.Status, in.Every, in.Now)
	if wait := at.Sub(in.Now); !ok || wait > 0 {
		return Outcome{Again: max(0, wait)}
	}
	if why := crowded(in); why != "" {
		return Outcome{Again: lookAgain, Wait: why}
	}
	next, err := Begin(in, Request{})
	if err != nil {
		return Outcome{Again: lookAgain, Wait: err.Error()}
	}
	return Outcome{Put: []model.Object{next}, Cause: fmt.Sprintf("volume %s: compare its copies, as its class wants every %s", in.Volume.Name, in.Every)}
}

// step takes one verification one step on.
type step struct {
	Input
	status *model.VolumeStatus // to be written
	v      *model.Verification // its
}

// over says why a verification cannot go on.
func (s *step) over() string {
	switch {
	case s.Volume.Deleting():
		return "the volume is being deleted"
	case s.Volume.Stopped:
		return "the volume is stopped"
	}
	for _, id := range append([]int{s.v.Source}, ids(s.v.Copies)...) {
		i := slices.IndexFunc(s.Copies, func(c Copy) bool { return c.ID == id })
		switch {
		case i < 0:
			return fmt.Sprintf("replica %d is no copy of it any more", id)
		case s.Copies[i].Fenced:
			return fmt.Sprintf("node %s of replica %d is fenced", s.Copies[i].Node, id)
		}
	}
	return ""
}

func ids(copies []model.VerifiedCopy) []int {
	var out []int
	for _, c := range copies {
		out = append(out, c.ID)
	}
	return out
}

// current is the copy whose turn it is; nil: all have had theirs.
func (s *step) current() *model.VerifiedCopy {
	for i := range s.v.Copies {
		c := &s.v.Copies[i]
		open := !c.Compared
		if s.v.Phase == model.Repairing {
			open = c.OutOfSync > 0 && !c.Repaired
		}
		if open && c.Message == "" {
			return c
		}
	}
	return nil
}

// turn goes from comparing to repairing, or to the end.
func (s *step) turn() Outcome {
	found := slices.ContainsFunc(s.v.Copies, func(c model.VerifiedCopy) bool { return c.OutOfSync > 0 && c.Message == "" })
	if s.v.Phase == model.Comparing && s.v.Repair && found {
		s.v.Phase = model.Repairing
		return s.write("copy what differs")
	}
	return s.end("")
}

// roles are where an operation runs, and which other copy it names: DRBD 8.4 is told on the
// source what to copy, 9 on the copy that is mended.
func (s *step) roles(c *model.VerifiedCopy) (on, peer int) {
	if s.v.Phase == model.Repairing && s.Status.DRBD != "8.4" {
		return c.ID, s.v.Source
	}
	return s.v.Source, c.ID
}

func (s *step) kind() string {
	if s.v.Phase == model.Repairing {
		return model.OperationRepair
	}
	return model.OperationVerify
}

// about says that an operation is the one of this copy's turn.
func (s *step) about(op *model.Operation, c *model.VerifiedCopy) bool {
	on, peer := s.roles(c)
	return op.Type == s.kind() && op.Replica == on && op.Peer != nil && op.Peer.Peer == peer && !op.CreatedAt.Before(s.v.StartedAt)
}

// OperationName is how the operations of a volume's verifications are called, one after the other.
func OperationName(volume string) string { return volume + "-verify" }

// grant lets the copy's turn begin.
func (s *step) grant(c *model.VerifiedCopy) Outcome {
	on, peer := s.roles(c)
	op := &model.Operation{
		Type: s.kind(), Volume: s.Volume.Name, Replica: on, Phase: model.OperationPending, Peer: &model.WithPeerParams{Peer: peer},
	}
	op.Name, op.CreatedAt = OperationName(s.Volume.Name), s.Now
	if s.Now.Before(s.v.StartedAt) { // by a leader whose clock is ahead of this one's
		op.CreatedAt = s.v.StartedAt
	}
	if s.Operation != nil {
		op.Revision = s.Operation.Revision
	}
	for _, copied := range s.Copies {
		if copied.ID == on {
			op.Node = copied.Node
		}
	}
	return Outcome{Put: []model.Object{op}, Cause: fmt.Sprintf("volume %s: %s replica %d with %d", s.Volume.Name, op.Type, on, peer)}
}

// compared notes what a comparison found.
func (s *step) compared(c *model.VerifiedCopy) Outcome {
	if s.Operation.Phase == model.OperationFailed {
		c.Message = s.Operation.Result
		return s.write(fmt.Sprintf("replica %d was not compared", c.ID))
	}
	c.Compared, c.OutOfSync = true, s.Operation.OutOfSync
	return s.write(fmt.Sprintf("replica %d differs from %d in %d bytes", c.ID, s.v.Source, c.OutOfSync))
}

// repaired notes that nothing differs any more, once both sides say so.
func (s *step) repaired(c *model.VerifiedCopy) Outcome {
	if s.Operation.Phase == model.OperationFailed {
		c.Message = s.Operation.Result
		return s.write(fmt.Sprintf("replica %d was not mended", c.ID))
	}
	for _, side := range s.Copies {
		if (side.ID == c.ID || side.ID == s.v.Source) && !side.same(s.Status.DRBD, s.v.Source+c.ID-side.ID) {
			return Outcome{Wait: fmt.Sprintf("what differs is copied from replica %d to %d", s.v.Source, c.ID)}
		}
	}
	c.Repaired = true
	return s.write(fmt.Sprintf("replica %d is what %d is", c.ID, s.v.Source))
}

// same says that a copy and another are UpToDate, and know of no difference.
func (c Copy) same(version string, peer int) bool {
	if !c.Known || c.Resource.Disk() != drbd.UpToDate {
		return false
	}
	for _, p := range c.Resource.Peers {
		if version != "8.4" && p.NodeID != peer {
			continue
		}
		for _, d := range p.Devices {
			if p.Connection != drbd.Connected || d.Disk != drbd.UpToDate || d.Replication != drbd.Established || d.OutOfSync > 0 {
				return false
			}
		}
		return len(p.Devices) > 0
	}
	return false
}

// end ends a verification, and says in a condition what is known since.
func (s *step) end(why string) Outcome {
	s.v.Phase, s.v.EndedAt, s.v.Message = model.Verified, s.Now, why
	if why == "" {
		for _, c := range s.v.Copies {
			if c.Message != "" {
				s.v.Message = fmt.Sprintf("replica %d: %s", c.ID, c.Message)
			}
		}
	}
	s.status.Conditions = s.status.Conditions.With(Condition(s.Volume.Name, s.v), s.Now)
	return s.write("comparing is over")
}

// write writes the status, and takes the operation away whose result it holds.
func (s *step) write(what string) Outcome {
	out := Outcome{Put: []model.Object{s.status}, Cause: fmt.Sprintf("volume %s: %s", s.Volume.Name, what)}
	if s.Operation != nil {
		out.Delete = append(out.Delete, s.Operation)
	}
	return out
}

// Condition is what the newest verification found.
func Condition(volume string, v *model.Verification) model.Condition {
	c := model.Condition{Type: "Verified", Status: model.True, Reason: "NoDifference"}
	for _, copied := range v.Copies {
		switch {
		case copied.OutOfSync > 0 && !copied.Repaired:
			c.Status, c.Reason = model.False, "DifferencesFound"
			c.Message = fmt.Sprintf("replica %d differs from replica %d in %d bytes: see which one is right; `rvol volume verify %s --repair --from ID` copies from it",
				copied.ID, v.Source, copied.OutOfSync, volume)
			return c
		case copied.Repaired:
			c.Reason, c.Message = "Repaired", fmt.Sprintf("%d bytes were copied from replica %d to %d", copied.OutOfSync, v.Source, copied.ID)
		}
	}
	if v.Message != "" {
		c.Status, c.Reason, c.Message = model.Unknown, "NotCompared", v.Message
	}
	return c
}
