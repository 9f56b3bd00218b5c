package admin

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/compare"
	"rvol/coordinator/decide/invariant"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Check looks whether the state is sound, and whether nodes hold what it says.
func (s *cluster) Check(context.Context, *adminv1.ClusterCheckRequest) (*adminv1.ClusterCheck, error) {
	v := s.Store.View()
	in, err := s.soundness(v, s.Inventory.View())
	if err != nil {
		return nil, err
	}
	out := &adminv1.ClusterCheck{Differences: stateDifferences(compare.Differences(in.Input))}
	for _, n := range in.Nodes {
		if why := compare.Waiting(in.Cluster, n); why != "" {
			out.Unknown = append(out.Unknown, n.Name+": "+why)
		}
	}
	for _, j := range invariant.Judge(in) {
		out.Invariants = append(out.Invariants, &adminv1.Invariant{Id: j.ID, Says: j.Says, Status: string(j.Status), Findings: j.Findings})
	}
	return out, nil
}

// soundness gathers what can be seen.
func (s *cluster) soundness(v state.View, seen inventory.View) (invariant.Input, error) {
	in := invariant.Input{Input: control.Comparison(v, seen), Index: v.Index()}
	for c := range state.All[*model.Capacity](v) {
		in.Pools = append(in.Pools, invariant.Pool{Capacity: c, Charged: v.Charged(c.Pool)})
	}
	var err error
	in.Leaks, in.Searched, err = s.leaks(v)
	return in, err
}

// searched is in how many of the newest events secrets are looked for.
const searched = 10_000

// leaks looks for the secrets of the state in what the trail tells everybody.
func (s *cluster) leaks(v state.View) (found []string, texts int, err error) {
	var secrets []string
	for o := range state.All[*model.Secret](v) {
		secrets = append(secrets, o.Value)
	}
	from := s.Trail.First()
	if last := s.Trail.Last(); last > from+searched {
		from = last - searched
	}
	for {
		headers, err := s.Trail.Read(from, page)
		if errors.Is(err, model.ErrCompacted) || err == nil && len(headers) == 0 {
			return found, texts, nil
		}
		if err != nil {
			return nil, 0, err
		}
		for _, h := range headers {
			texts++
			for _, secret := range secrets {
				if secret != "" && strings.Contains(h.Cause+h.RequestID, secret) {
					found = append(found, "the event of index "+strconv.FormatUint(h.Index, 10)+" has a secret in it")
				}
			}
			from = h.Index + 1
		}
	}
}
