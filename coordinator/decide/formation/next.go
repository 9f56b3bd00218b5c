package formation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/model"
)

// Next says what to do now. The caller must not call it for a formed volume: the
// coordinator's guard against forming twice is here, and it answers with a refusal.
func Next(in Input) (Outcome, error) {
	if in.Status.Formed {
		return Outcome{}, fmt.Errorf("%w: volume %s: it is formed; formation would destroy its data", model.ErrForbidden, in.Volume.Name)
	}
	if in.Status.Formation == nil {
		return start(in), nil
	}
	i := in.Status.Formation.Active()
	if i < 0 {
		return Outcome{}, fmt.Errorf("%w: volume %s: formation has no active step", model.ErrInvalid, in.Volume.Name)
	}
	var out Outcome
	switch in.Status.Formation.Steps[i].Name {
	case Preconfigure:
		out = preconfigure(in)
	case EstablishConnectivity:
		out = establish(in)
	case BootstrapData:
		out = bootstrap(in)
	}
	if out.Wait == "" || out.Changed() {
		return out, nil
	}
	return say(in, out), nil
}

// start opens the transition. After a restart it waits longer each time, so that a
// cluster that cannot form a volume does not spend its days making and deleting LVs.
func start(in Input) Outcome {
	st := model.Clone(in.Status)
	st.Datamesh = model.Datamesh{
		Revision:       in.Status.Datamesh.Revision + 1, // counts on over restarts
		Devices:        in.Volume.Devices,
		SystemNetworks: in.Status.Configuration.SystemNetworks,
	}
	st.Formation = &model.Transition{
		Type: "Formation", Plan: Plan, StartedAt: in.Now,
		Steps: []model.TransitionStep{
			{Name: Preconfigure, Status: model.StepActive, StartedAt: in.Now},
			{Name: EstablishConnectivity, Status: model.StepPending},
			{Name: BootstrapData, Status: model.StepPending},
		},
	}
	return Outcome{Put: []model.Object{st}, Cause: "form " + in.Volume.Name + ": start"}
}

// active are the replicas that formation works with: not being deleted.
func active(in Input) []Replica {
	var out []Replica
	for _, r := range in.Replicas {
		if !r.Deleting() {
			out = append(out, r)
		}
	}
	return out
}

func diskful(rs []Replica) []Replica {
	var out []Replica
	for _, r := range rs {
		if r.Type == model.Diskful {
			out = append(out, r)
		}
	}
	return out
}

// advance completes the active step with the changes of put and begins the next.
func advance(in Input, st *model.VolumeStatus, cause string, put ...model.Object) Outcome {
	i := st.Formation.Active()
	st.Formation.Steps[i].Status = model.StepCompleted
	st.Formation.Steps[i].CompletedAt = in.Now
	st.Formation.Steps[i].Message = ""
	if i+1 < len(st.Formation.Steps) {
		st.Formation.Steps[i+1].Status = model.StepActive
		st.Formation.Steps[i+1].StartedAt = in.Now
	}
	return Outcome{Put: append(put, st), Cause: "form " + in.Volume.Name + ": " + cause}
}

// say records what is waited for in the active step, when it changed; people read it. A
// step that goes well is over before anybody could: it costs no entry, and no agent a new order.
func say(in Input, out Outcome) Outcome {
	i := in.Status.Formation.Active()
	if in.Status.Formation.Steps[i].Message == out.Wait {
		return out
	}
	if early := min(quiet, quiet-in.Now.Sub(in.Status.Formation.Steps[i].StartedAt)); early > 0 {
		if out.Again == 0 || out.Again > early {
			out.Again = early
		}
		return out
	}
	st := model.Clone(in.Status)
	st.Formation.Steps[i].Message = out.Wait
	out.Put = []model.Object{st}
	out.Cause = fmt.Sprintf("form %s: %s: %s", in.Volume.Name, st.Formation.Steps[i].Name, out.Wait)
	return out
}

// waitOr waits with message while the step's time is not up, and restarts afterwards.
func waitOr(in Input, limit time.Duration, message string) Outcome {
	if in.InStep < limit {
		return Outcome{Wait: message, Again: limit - in.InStep}
	}
	return restart(in, message)
}

// restart throws everything away: operation, replicas, mesh, secret. The revision counter goes
// on, and the next try takes new uids, ids, LVs, secret and the class's then valid configuration.
func restart(in Input, why string) Outcome {
	st := model.Clone(in.Status)
	n := st.Restarts + 1
	st.Formation = nil
	st.Datamesh = model.Datamesh{Revision: st.Datamesh.Revision}
	st.Configuration, st.ConfigurationGeneration, st.DRBD = nil, 0, ""
	st.Restarts, st.LastError = n, why
	if st.Refused++; !slices.ContainsFunc(active(in), refused) {
		st.Refused = 0
	}
	out := Outcome{Restart: true, Cause: fmt.Sprintf("form %s: start again (restart %d): %s", in.Volume.Name, n, why)}
	for _, r := range active(in) {
		put, del := Remove(r, in.Now)
		out.Put = append(out.Put, put...)
		out.Delete = append(out.Delete, del...)
	}
	if in.Operation != nil {
		out.Delete = append(out.Delete, in.Operation)
	}
	if in.OldSecret != nil {
		out.Delete = append(out.Delete, in.OldSecret)
	}
	out.Put = append(out.Put, st)
	return out
}

// refused says that a node refuses to make a replica, and that waiting does not cure it.
func refused(r Replica) bool { return r.Known && (r.State.Refusals > 0 || r.State.Failed) }

// GivenUp says that formation was refused so often that it is begun again only when something changes.
func GivenUp(st *model.VolumeStatus) bool { return st.Refused >= maxRefused }

// Delay is how long to wait before the formation that follows n restarts.
func Delay(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return min(restartDelay<<min(n-1, 10), restartDelayTo)
}

// Remove marks a replica for deletion and its reservations for release; the record goes
// when the agent has proven the LVs gone. A replica without a node goes at once.
func Remove(r Replica, now time.Time) (put, del []model.Object) {
	if r.Node == "" {
		return nil, []model.Object{r.Replica}
	}
	c := model.Clone(r.Replica)
	c.DeletingSince = now
	put = append(put, c)
	for _, res := range r.Reservations {
		if res.State == model.Releasing {
			continue
		}
		rc := model.Clone(res)
		rc.State = model.Releasing
		put = append(put, rc)
	}
	return put, nil
}

// names lists replicas as people know them: "0 (n1), 1 (n2)".
func names(rs []Replica) string {
	var out []string
	for _, r := range rs {
		out = append(out, name(r))
	}
	return strings.Join(out, ", ")
}

func name(r Replica) string {
	if r.Node == "" {
		return fmt.Sprintf("%d", r.ID)
	}
	return fmt.Sprintf("%d (%s)", r.ID, r.Node)
}

// types are what a layout is made of, in the order of creation.
var types = []model.ReplicaType{model.Diskful, model.TieBreaker}

// wanted is how many replicas of type t the layout has.
func wanted(l layout.Layout, t model.ReplicaType) int {
	if t == model.Diskful {
		return l.Diskful
	}
	return l.TieBreakers
}
