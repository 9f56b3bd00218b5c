package agents

import (
	"context"
	"fmt"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
)

// sole answers whether a replica may go on alone. Every grant is an entry of its own, also
// to the one that has it: a round that others may be about to end does not count. Without
// a majority there is no answer.
func (n *session) sole(ctx context.Context, q *agentv1.SoleRequest) error {
	ctx, cancel := context.WithTimeout(ctx, resultTimeout)
	defer cancel()
	answer := &agentv1.SoleAnswer{Volume: q.GetVolume(), Number: q.GetNumber()}
	err := enroll.Again(ctx, n.Store, n.Proposer, func(v state.View) (*state.Build, error) {
		answer.Granted, answer.Holder, answer.Reason = false, "", ""
		in, known := n.arbitrated(v, q)
		if !known {
			answer.Reason = "this node holds no such replica"
			return nil, nil
		}
		if answer.Reason = arbiter.Refuse(in); answer.Reason != "" {
			answer.Holder = holder(in.Status, in.Replica.ID)
			return nil, nil
		}
		vs := model.Clone(in.Status)
		vs.GoesAlone(in.Replica.ID)
		answer.Granted, answer.Holder, answer.Round = true, n.node, vs.SoleRound
		b := state.NewTxn(n.caller.Actor(), fmt.Sprintf("volume %s: replica %d on %s goes on alone", q.GetVolume(), in.Replica.ID, n.node))
		for _, a := range in.Attachments {
			b.Expect(a.Key(), a.Revision)
		}
		return b.Put(vs), nil
	})
	if err != nil {
		n.Log.WarnContext(ctx, "nobody was let go on alone, for the grant may not be in force", "node", n.node, "volume", q.GetVolume(), "err", err)
		return nil
	}
	return n.send(&agentv1.ToAgent{Message: &agentv1.ToAgent_SoleAnswer{SoleAnswer: answer}})
}

// arbitrated gathers what the decision looks at.
func (n *session) arbitrated(v state.View, q *agentv1.SoleRequest) (in arbiter.Input, known bool) {
	r, here := v.ReplicaOn(n.node, q.GetVolume())
	vol, ok := state.Get[*model.Volume](v, q.GetVolume())
	vs, has := state.Get[*model.VolumeStatus](v, q.GetVolume())
	node, joined := state.Get[*model.Node](v, n.node)
	cluster, made := state.Get[*model.Cluster](v, model.ClusterName)
	if !here || !ok || !has || !joined || !made || r.UID != q.GetReplicaUid() || r.Deleting() {
		return in, false
	}
	in = arbiter.Input{
		Volume: vol, Status: vs, Replica: r, Primary: q.GetPrimary(), Fenced: node.Fenced != nil, Reconciling: cluster.Reconciling,
	}
	for a := range state.Under[*model.Attachment](v, vol.Name+"/") {
		in.Attachments = append(in.Attachments, a)
	}
	return in, true
}

// holder names the node of the other copy when that one goes on alone.
func holder(vs *model.VolumeStatus, id int) string {
	if vs.Sole == nil || *vs.Sole == id {
		return ""
	}
	m, _ := vs.Datamesh.Member(*vs.Sole)
	return m.Node
}
