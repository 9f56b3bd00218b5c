package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/compare"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Reconcile tells in what the nodes differ from a state that was restored; nodes that
// cannot report may be set aside by name; and it ends when the differences are accepted
// as they were seen.
func (s *cluster) Reconcile(ctx context.Context, r *adminv1.ReconcileRequest) (*adminv1.Reconciliation, error) {
	if len(r.GetSetAside()) > 0 {
		if err := s.setAside(ctx, r.GetSetAside()); err != nil {
			return nil, err
		}
	}
	if !r.GetAccept() {
		return s.reconciliation(s.Store.View()), nil
	}
	var is *adminv1.Reconciliation
	rev, err := s.write(ctx, "/accept", func(v state.View, b *state.Build) (*state.Build, error) {
		is = s.reconciliation(v)
		if err := acceptable(is, r.GetDigest()); err != nil {
			return nil, err
		}
		if !is.GetReconciling() {
			return nil, nil
		}
		return b, control.Accepted(v, b, compare.Differences(control.Comparison(v, s.Inventory.View())), s.Clock())
	})
	if err != nil {
		return nil, err
	}
	out := s.reconciliation(s.Store.View())
	out.Differences, out.Revision = is.GetDifferences(), rev
	return out, nil
}

// acceptable refuses to accept what was not seen, or cannot be known yet.
func acceptable(is *adminv1.Reconciliation, digest string) error {
	key := model.Key{Kind: model.KindCluster, Name: model.ClusterName}
	if !is.GetReconciling() {
		return nil
	}
	var waiting []string
	for _, n := range is.GetNodes() {
		if n.GetState() == "waiting" {
			waiting = append(waiting, n.GetName()+" ("+n.GetMessage()+")")
		}
	}
	switch {
	case len(waiting) > 0:
		return door.Refuse(model.ErrBusy, key, "not every node has reported: "+strings.Join(waiting, ", "),
			"wait for them, or set those aside that are lost: `rvol cluster reconcile --set-aside NODE`")
	case digest != is.GetDigest():
		return door.Refuse(model.ErrConflict, key, "the differences are not those that were seen", "look at them again: `rvol cluster reconcile`")
	}
	return nil
}

func (s *cluster) setAside(ctx context.Context, nodes []string) error {
	_, err := s.write(ctx, "/aside", func(v state.View, b *state.Build) (*state.Build, error) {
		c, err := find[*model.Cluster](v, model.ClusterName)
		if err != nil {
			return nil, err
		}
		if !c.Reconciling {
			return nil, door.Refuse(model.ErrBusy, model.Key{Kind: model.KindCluster, Name: c.ID}, "it is not reconciling: nobody is waited for", "")
		}
		next := model.Clone(c)
		for _, n := range nodes {
			if _, err := find[*model.Node](v, n); err != nil {
				return nil, err
			}
			next.SetAside = append(next.SetAside, n)
		}
		slices.Sort(next.SetAside)
		next.SetAside = slices.Compact(next.SetAside)
		if slices.Equal(next.SetAside, c.SetAside) {
			return nil, nil
		}
		return b.Because("do not wait for the report of " + strings.Join(nodes, ", ")).Put(next), nil
	})
	return err
}

// reconciliation is how far it has come.
func (s *cluster) reconciliation(v state.View) *adminv1.Reconciliation {
	in := control.Comparison(v, s.Inventory.View())
	out := &adminv1.Reconciliation{Reconciling: in.Cluster.Reconciling, Restored: in.Cluster.Restored, Incarnation: in.Cluster.Incarnation}
	sum := sha256.New()
	for _, n := range in.Nodes {
		p := &adminv1.ReconcileNode{Name: n.Name, State: "reported", Message: compare.Waiting(in.Cluster, n)}
		switch {
		case slices.Contains(in.Cluster.SetAside, n.Name):
			p.State = "set-aside"
		case p.GetMessage() != "":
			p.State = "waiting"
		}
		out.Nodes = append(out.Nodes, p)
	}
	out.Differences = stateDifferences(compare.Differences(in))
	for _, d := range out.GetDifferences() {
		_, _ = fmt.Fprintf(sum, "%q %q %q %q\n", d.GetKind(), d.GetNode(), d.GetObject(), d.GetThen()) // a hash takes everything
	}
	out.Digest = hex.EncodeToString(sum.Sum(nil))[:16]
	return out
}

func stateDifferences(all []compare.Difference) []*adminv1.StateDifference {
	var out []*adminv1.StateDifference
	for _, d := range all {
		out = append(out, &adminv1.StateDifference{
			Kind: string(d.Kind), Node: d.Node, Volume: d.Volume, Object: d.Object, Message: d.Says, Then: d.Then,
		})
	}
	return out
}
