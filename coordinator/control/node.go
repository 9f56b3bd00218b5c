package control

import (
	"fmt"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// Node decides whether nodes are Ready, keeps their capabilities, and lifts fences that
// their agents have read. Registration itself is the agents' door's.
type Node struct {
	NotReadyAfter time.Duration // silence after which a node is NotReady
	Interval      time.Duration // of heartbeats
}

// Name is the controller's name.
func (Node) Name() string { return "node" }

// WhileReconciling says that it only writes down what agents report, or what follows from it.
func (Node) WhileReconciling() {}

// Affected names the node whose records changed.
func (Node) Affected(changed model.Key, _ state.View) []string {
	switch changed.Kind {
	case model.KindNode, model.KindNodeStatus:
		return []string{changed.Name}
	default:
	}
	return nil
}

// AffectedBy names the node itself.
func (Node) AffectedBy(node string, _ state.View) []string { return []string{node} }

// All lists all nodes.
func (Node) All(v state.View) []string { return names[*model.Node](v) }

// Decide compares what the node's agent said, and when, with what is committed.
func (c Node) Decide(w World, key string) (Outcome, error) {
	node, ok := state.Get[*model.Node](w.State, key)
	st, has := state.Get[*model.NodeStatus](w.State, key)
	if !ok || !has {
		w.Held("leading", false)
		return Outcome{}, nil
	}
	seen := w.Inventory.Node(key)
	if node.Fenced != nil && fenceRead(node, st, seen) {
		n := model.Clone(node)
		n.Fenced = nil
		return Outcome{Txn: state.NewTxn(Actor(c), fmt.Sprintf("node %s is back and Secondary: lift its fence", key)).Put(n)}, nil
	}
	// After an election nobody is declared NotReady before one full interval has passed. A registration counts as a sign of
	// life of its own: it is committed before the session it opens is heard.
	leading := w.Held("leading", true)
	w.Held(registration(st.Epoch-1), false)
	silence := min(leading, w.Held(registration(st.Epoch), true))
	if seen != nil {
		silence = min(silence, time.Since(seen.Heard))
	}
	gone := silence >= c.NotReadyAfter && leading >= c.NotReadyAfter+c.Interval
	if b := c.judge(w, st, seen, gone, silence); b != nil {
		return Outcome{Txn: b}, nil
	}
	return Outcome{Again: c.Interval}, nil
}

// registration names that the epoch-th registration of a node is known here.
func registration(epoch uint64) string { return fmt.Sprintf("epoch %d", epoch) }

// judge writes what changed about the node; nil: nothing did.
func (c Node) judge(w World, st *model.NodeStatus, seen *inventory.Node, gone bool, silence time.Duration) *state.Build {
	next := model.Clone(st)
	switch {
	case st.Ready && gone:
		next.Ready, next.UpdatedBy = false, "monitor"
		next.Reason = fmt.Sprintf("nothing heard for %s", silence.Round(time.Second))
		next.UpdatedAt, next.NotReadySince, next.Door = w.Now, w.Now, ""
		return state.NewTxn(Actor(c), fmt.Sprintf("node %s is NotReady: %s", st.Name, next.Reason)).Put(next)
	case !st.Ready && seen.Known() && silence < c.NotReadyAfter:
		next.Ready, next.Reason, next.UpdatedBy, next.UpdatedAt = true, "heartbeat received", "heartbeat", w.Now
		next.NotReadySince, next.Door = time.Time{}, ""
		return Returned(w.State, st.Name, state.NewTxn(Actor(c), fmt.Sprintf("node %s is Ready again", st.Name)).Put(next))
	case seen.Known() && seen.Capabilities != st.Capabilities:
		next.Capabilities = seen.Capabilities
		return state.NewTxn(Actor(c), fmt.Sprintf("node %s: capabilities changed: DRBD %q, LVM %q",
			st.Name, next.Capabilities.DRBDFull, next.Capabilities.LVM)).Put(next)
	}
	return nil
}

// fenceRead says that the node registered after the fence, accepted an order that holds
// it, and is Secondary with everything rvol gave it.
func fenceRead(n *model.Node, st *model.NodeStatus, seen *inventory.Node) bool {
	if !seen.Known() || seen.DRBDError != "" || st.Epoch <= n.Fenced.Epoch || seen.Accepted.Index < n.Revision {
		return false
	}
	for _, r := range seen.Resources {
		if r.Role == drbd.Primary && seen.ReplicaOf(r.Name) {
			return false
		}
	}
	return true
}
