package steps_test

import (
	"fmt"
	"time"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// hasty is a change whose plan leaves out what must come before its last step.
func hasty(plan, kind string, steps ...model.TransitionStep) func(transition.Input) (transition.Outcome, error) {
	return func(in transition.Input) (transition.Outcome, error) {
		vs := model.Clone(in.Status)
		for i := range steps {
			steps[i].Status = model.StepPending
		}
		vs.Transitions = []model.Transition{{Plan: plan, Type: kind, StartedAt: in.Now, Steps: steps}}
		return transition.Outcome{Put: []model.Object{vs}}, nil
	}
}

// oddHarms are those of guards that hold back steps taken too early, or about the wrong
// member; some of them the plans of today never wake.
func oddHarms() []harm {
	return []harm{
		{
			guard: "isNoMember", given: with(class(0, 1), 2, 0), class: class(0, 1),
			start: hasty("remove-diskful/v1", "RemoveReplica", model.TransitionStep{Name: transition.ReleaseReplica, Replica: new(1)}),
			says:  "replica 1 is still a member",
			// The mesh counts on a copy that is gone.
			also: func(w *world) { w.release(1) },
			harm: frozen,
		},
		{
			guard: "isGone", given: class(1, 0), class: class(1, 0),
			ready: func(w *world) {
				w.attach(w.nodes[1])
				w.forever(w.nodes[1])
			},
			start: giveUp(1),
			upset: func(w *world) { // it was not off for good, and has users again; no coordinator reaches it
				w.nodes[1].boot()
				w.tellAgain(w.nodes[1])
				w.until("in use again", func() string { return w.unhealthy(drbd.UpToDate) })
				w.nodes[1].deaf = true
			},
			says: "replica 0 (n0) is connected with replica 1 (n1): its node is not off",
			// Its peers no longer know it: either it freezes under its user, or what it writes from
			// then on is on no disk of a member. Which of them leaves it first decides.
			force: func(m *model.Datamesh) {
				without(1)(m)
				m.Quorum, m.QuorumMinimumRedundancy = 0, 0
			},
			harm: func(w *world) string {
				if why := frozen(w); why != "" {
					return why
				}
				if err := w.try(w.nodes[1]); err != nil {
					return err.Error()
				}
				return w.lost(w.nodes[0].raw(w))
			},
		},
		{
			guard: "notAttached", given: class(1, 0), class: class(1, 0),
			start: hasty("change-type/v1", "ChangeReplicaType", model.TransitionStep{Name: transition.DropBacking, Replica: new(1), Type: model.TieBreaker}),
			says:  "the disk of replica 1 is attached",
			also: func(w *world) {
				r := model.Clone(w.replicas[1])
				r.Type, r.VG, r.Devices[0].Reservation = model.TieBreaker, "", ""
				w.replicas[1] = r
				w.releaseAll(r)
			},
			harm: func(w *world) string { return w.notCopied(1) },
		},
		{
			guard: "roomInMesh", old: true, given: with(class(0, 1), 2, 0), class: class(0, 0), spare: 1, until: transition.PlaceReplica,
			start: func(in transition.Input) (transition.Outcome, error) {
				out, err := transition.Replace(in, 1, model.ReplicaPlace{}, true)
				for _, o := range out.Put {
					if vs, ok := o.(*model.VolumeStatus); ok { // without the step that makes room
						steps := vs.Transitions[0].Steps
						vs.Transitions[0].Steps = append(steps[:1:1], steps[2:]...)
					}
				}
				return out, err
			},
			says: "it has 2 copies: a mesh holds 2",
			force: func(m *model.Datamesh) {
				third := m.Members[1]
				third.ID, third.Node, third.HostName = 2, "n2", "n2"
				m.Members = append(m.Members, third)
			},
			harm: func(w *world) string {
				time.Sleep(time.Minute)
				for n := range w.members() {
					if s := w.state(n); s.AppliedRevision != w.status.Datamesh.Revision {
						return fmt.Sprintf("%s runs revision %d: %s", n.Name, s.AppliedRevision, s.Error)
					}
				}
				return ""
			},
		},
		{
			guard: "healthy", given: class(1, 0), class: class(1, 0), start: grow,
			upset: func(w *world) {
				w.nodes[1].kill()
				time.Sleep(20 * time.Second)
			},
			says: "replica 0 (n0): a connection is Connecting, want Connected",
			also: func(w *world) {
				t := &w.status.Transitions[0]
				t.Steps[0].Status = model.StepActive // the LVs grow of those that are there
				w.tellAll()
				time.Sleep(20 * time.Second)
				w.ok(w.nodes[0].tool().Resize(w.Context(), minor)) // its agent would wait as well
			},
			// The volume ends where one copy has no room: what is acknowledged there is on the other alone.
			harm: func(w *world) string {
				room := w.state(w.nodes[1]).Backing[0].Usable
				if err := w.nodes[0].DRBD.Write(w.Context(), minor, room, make([]byte, 4096)); err != nil {
					return ""
				}
				return fmt.Sprintf("acknowledged at %d, where the disk of n1 ends", room)
			},
		},
	}
}

// release gives back the place of a replica.
func (w *world) release(id int) {
	r := model.Clone(w.replicas[id])
	r.DeletingSince = time.Now()
	w.replicas[id] = r
	w.releaseAll(r)
}

func (w *world) releaseAll(r *model.Replica) {
	for uid, res := range w.reservations {
		if res.Owner == r.Name {
			res = model.Clone(res)
			res.State = model.Releasing
			w.reservations[uid] = res
		}
	}
}

// notCopied says that a member's disk is no copy any more.
func (w *world) notCopied(id int) string {
	time.Sleep(20 * time.Second)
	n := w.node(w.replicas[id].Node)
	r, up := n.kernel()
	if !up {
		return n.Name + " is not up"
	}
	if d := r.Devices[0].Disk; d != drbd.UpToDate {
		return fmt.Sprintf("the disk of %s is %s", n.Name, d)
	}
	if s := w.state(n); s.Error != "" {
		return s.Error
	}
	return ""
}
