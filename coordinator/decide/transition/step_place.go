package transition

import (
	"cmp"
	"fmt"
	"time"

	"rvol/coordinator/model"
)

// PlaceReplica waits until a new replica has its place, and its node has prepared it:
// volume made, metadata written, resource up without peers.
const PlaceReplica = "PlaceReplica"

var placeReplica = step{
	name: PlaceReplica, concerns: subject, confirm: prepared, slow: 2 * time.Minute,
}

// subject: the replica that the step is about must confirm, and nobody else.
func subject(a at, m Member) bool { return a.stored().Is(m.ID) }

func prepared(a at, m Member) string {
	switch c, _ := m.Conditions.Get("Scheduled"); {
	case m.Port == 0 && c.Message != "":
		return "it has no place: " + c.Message
	case m.Port == 0:
		return "waiting for the scheduler"
	case m.State.Error != "":
		return m.State.Error
	case !m.State.Preconfigured && m.State.Step != "":
		return "is being prepared: " + m.State.Step
	case !m.State.Preconfigured:
		return "is not prepared yet"
	}
	return cmp.Or(unaddressed(a, m), tooSmall(a, m))
}

func unaddressed(a at, m Member) string {
	for _, net := range a.Status.Datamesh.SystemNetworks {
		if !m.Addresses[net].IsValid() {
			return fmt.Sprintf("its node has no address on network %q: give its agent --address %s=IP", net, net)
		}
	}
	return ""
}

func tooSmall(a at, m Member) string {
	for _, d := range a.Status.Datamesh.Devices {
		if b := m.backing(d.Number); m.Type == model.Diskful && b.Usable > 0 && b.Usable < d.Size {
			return fmt.Sprintf("device %d has %d usable bytes, %d are needed", d.Number, b.Usable, d.Size)
		}
	}
	return ""
}

// Wishes is where replicas that have no place yet were asked to go, by id.
func Wishes(vs *model.VolumeStatus) map[int]model.ReplicaPlace {
	var out map[int]model.ReplicaPlace
	eachOpen(vs, func(s *model.TransitionStep) {
		if s.To != nil && s.Replica != nil {
			if out == nil {
				out = map[int]model.ReplicaPlace{}
			}
			out[*s.Replica] = *s.To
		}
	})
	return out
}

// Leaving says whether a replica is to go, or to lose its disk: it takes no new users, and
// does not count where copies are spread over zones.
func Leaving(vs *model.VolumeStatus, id int) bool {
	leaves := false
	eachOpen(vs, func(s *model.TransitionStep) {
		if s.Is(id) && (s.Name == DetachDisk || s.Name == LeaveMesh || s.Name == ReleaseReplica) {
			leaves = true
		}
	})
	return leaves
}

// eachOpen visits the steps that are not over, of all transitions.
func eachOpen(vs *model.VolumeStatus, visit func(*model.TransitionStep)) {
	for i := range vs.Transitions {
		for k := range vs.Transitions[i].Steps {
			if s := &vs.Transitions[i].Steps[k]; s.Status != model.StepCompleted {
				visit(s)
			}
		}
	}
}
