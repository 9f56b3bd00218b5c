package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// failed is the condition of a replica whose agent was definitely refused: it waits before it
// tries again, or has given up. Nothing is said of one whose node does not report.
func (r replicaView) failed() []model.Condition {
	said := r.said()
	if !r.agent.Known() || said.Refusals == 0 && !said.Failed {
		return nil
	}
	c := model.Condition{
		Type: "Failed", Status: model.False, Reason: "BackoffWait",
		Message: fmt.Sprintf("refused %d times: %s; it is tried again within %s, or at once when something changes or with `rvol replica retry %s`",
			said.Refusals, said.Error, backOff(said.Refusals), r.Name),
	}
	if said.Failed {
		c.Status, c.Reason = model.True, reasonOf(said.ErrorClass)
		c.Message = fmt.Sprintf("given up after %d refusals: %s; it is tried again when its node, its volume or its space changes, or with `rvol replica retry %s`",
			said.Refusals, said.Error, r.Name)
	}
	return []model.Condition{c}
}

// backOff is how long an agent waits at most after so many refusals in a row (seed 004).
func backOff(refusals int) time.Duration {
	return min(2*time.Minute, 5*time.Second<<min(max(refusals-1, 0), 10))
}

// reasonOf makes a reason of an agent's class of errors: "no-space" is NoSpace.
func reasonOf(class string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(class, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// Retry lets agents try again what they have given up, and a formation begin at once.
func (s *replicas) Retry(ctx context.Context, r *adminv1.RetryRequest) (*adminv1.Done, error) {
	name := r.GetReplica()
	volume := r.GetVolume()
	if name != "" {
		var err error
		if volume, _, err = model.SplitReplicaName(name); err != nil {
			return nil, err
		}
	}
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if name != "" {
			one, err := find[*model.Replica](v, name)
			if err != nil {
				return nil, err
			}
			return retried(b, one).Because("try replica " + name + " again"), nil
		}
		if _, err := find[*model.Volume](v, volume); err != nil {
			return nil, err
		}
		for one := range state.Under[*model.Replica](v, volume+"/") {
			retried(b, one)
		}
		if vs, ok := state.Get[*model.VolumeStatus](v, volume); ok && !vs.Formed && vs.Restarts > 0 {
			next := model.Clone(vs)
			next.Restarts, next.Refused = 0, 0 // its back-off begins anew
			b.Put(next)
		}
		if b.Empty() {
			return nil, nil
		}
		return b.Because("try volume " + volume + " again"), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: "is tried again"}, nil
}

func retried(b *state.Build, r *model.Replica) *state.Build {
	next := model.Clone(r)
	next.Retry++
	return b.Put(next)
}
