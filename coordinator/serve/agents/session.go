package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/decide/desired"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
)

const (
	helloTimeout  = 10 * time.Second // for the agent's first word
	resultTimeout = 10 * time.Second // for an operation's result to be in force
)

type agentStream = grpc.BidiStreamingServer[agentv1.FromAgent, agentv1.ToAgent]

// Session is one agent's conversation with the leader.
func (s *service) Session(stream agentStream) error {
	l := s.Leadership()
	if !l.Leading {
		return s.notLeader(stream, l)
	}
	heard := listen(stream)
	hello, err := s.hello(stream.Context(), heard)
	if err != nil {
		return err
	}
	caller := door.From(stream.Context())
	epoch, err := s.register(stream.Context(), caller, hello)
	if errors.Is(err, model.ErrUnavailable) {
		return s.notLeader(stream, s.Leadership())
	}
	if err != nil {
		return err
	}
	n := &session{service: s, stream: stream, caller: caller, node: hello.GetNode()}
	n.number = s.Inventory.Open(n.node, time.Now())
	defer s.Inventory.Close(n.node, n.number)
	n.accept(hello)
	err = n.send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Welcome{Welcome: &agentv1.Welcome{
		Epoch: epoch, Leader: s.Name, HeartbeatSeconds: int64(max(s.Heartbeat, time.Second) / time.Second),
	}}})
	if err != nil {
		return err
	}
	return n.run(l, heard)
}

// notLeader says who leads, and ends the session.
func (s *service) notLeader(stream agentStream, l door.Leadership) error {
	return stream.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_NotLeader{NotLeader: &agentv1.NotLeader{
		Leader: l.Addr, Coordinators: coordinators(s.Store.View()),
	}}})
}

// said is one message from an agent, or why there is none.
type said struct {
	message *agentv1.FromAgent
	err     error
}

// listen receives until the stream ends, which it does at the latest when its handler
// returns: Recv knows no other way to stop.
func listen(stream agentStream) <-chan said {
	out := make(chan said)
	go func() {
		for {
			m, err := stream.Recv()
			select {
			case out <- said{m, err}:
			case <-stream.Context().Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

func (s *service) hello(ctx context.Context, heard <-chan said) (*agentv1.Hello, error) {
	patience := time.NewTimer(helloTimeout)
	defer patience.Stop()
	select {
	case w := <-heard:
		if w.err != nil {
			return nil, w.err
		}
		if h := w.message.GetHello(); h != nil {
			return h, nil
		}
		return nil, fmt.Errorf("%w: a session begins with Hello", model.ErrInvalid)
	case <-patience.C:
		return nil, fmt.Errorf("%w: no Hello within %s", model.ErrInvalid, helloTimeout)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// session is the conversation after the welcome. It belongs to the handler's goroutine.
type session struct {
	*service
	stream agentStream
	caller door.Caller
	node   string
	number uint64 // in the inventory
	sent   uint64 // index of the order sent last

	collected func(*agentv1.CollectedPart) // takes what the agent gathered
}

func (n *session) send(m *agentv1.ToAgent) error { return n.stream.Send(m) }

// run goes on until the agent, the leadership, or the node's place in the cluster ends.
func (n *session) run(l door.Leadership, heard <-chan said) error {
	moved := make(chan struct{}, 1) // one is enough: it means "since you last looked"
	asked := n.Collects.Join(n.node)
	defer asked.Close()
	n.collected = asked.Take
	defer n.Store.Watch(func(uint64, []model.Key) {
		select {
		case moved <- struct{}{}:
		default:
		}
	})()
	ctx := n.stream.Context()
	for {
		if err := n.order(); err != nil {
			return err
		}
		select {
		case w := <-heard:
			if err := n.hear(ctx, w); err != nil {
				return unlessOver(err)
			}
		case <-moved:
		case r := <-asked.Requests:
			if err := n.send(&agentv1.ToAgent{Message: &agentv1.ToAgent_CollectRequest{CollectRequest: r}}); err != nil {
				return err
			}
		case <-l.Changed:
			return n.notLeader(n.stream, n.Leadership())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// order sends what the node must hold, when that has been touched since the last time.
func (n *session) order() error {
	v := n.Store.View()
	revision := v.NodeRevision(n.node)
	if revision == n.sent {
		return nil
	}
	if err := enroll.Known(v, n.caller.Key, n.caller.ID); err != nil {
		return fmt.Errorf("%w: node %s: %w", model.ErrForbidden, n.node, err)
	}
	s, err := Gather(v, n.node)
	if err != nil {
		return err
	}
	n.sent = revision
	order := toProto(desired.For(s))
	order.Order = &agentv1.Order{Incarnation: s.Cluster.Incarnation, Index: revision}
	return n.send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Desired{Desired: order}})
}

// unlessOver is nil when the agent ended the session.
func unlessOver(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// hear takes one message in, or the end of the session, io.EOF.
func (n *session) hear(ctx context.Context, w said) error {
	if w.err != nil {
		return w.err
	}
	var newest bool
	switch m := w.message.GetMessage().(type) {
	case *agentv1.FromAgent_Report:
		newest = n.Inventory.Update(n.node, n.number, time.Now(), n.take(m.Report))
	case *agentv1.FromAgent_Heartbeat:
		if newest = n.Inventory.Heard(n.node, n.number, time.Now()); newest {
			return n.send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}})
		}
	case *agentv1.FromAgent_Result:
		n.Inventory.Heard(n.node, n.number, time.Now())
		return n.result(ctx, m.Result)
	case *agentv1.FromAgent_SoleRequest:
		n.Inventory.Heard(n.node, n.number, time.Now())
		return n.sole(ctx, m.SoleRequest)
	case *agentv1.FromAgent_Collected:
		n.Inventory.Heard(n.node, n.number, time.Now())
		n.collected(m.Collected)
		return nil
	default:
		return fmt.Errorf("%w: node %s: a message that has no place in a session", model.ErrInvalid, n.node)
	}
	if !newest {
		return fmt.Errorf("%w: node %s: another session of it has begun: does its agent run twice?", model.ErrBusy, n.node)
	}
	return nil
}

// accept notes the order that the agent brought with it.
func (n *session) accept(h *agentv1.Hello) {
	n.Inventory.Update(n.node, n.number, time.Now(), n.take(&agentv1.Report{Accepted: h.GetAccepted()}))
}

// take returns what a report changes. An order of an older incarnation counts for nothing:
// its index means something else.
func (n *session) take(r *agentv1.Report) func(*inventory.Node) {
	c, _ := state.Get[*model.Cluster](n.Store.View(), model.ClusterName)
	change := takeReport(r)
	return func(seen *inventory.Node) {
		change(seen)
		if c != nil && seen.Accepted.Incarnation != c.Incarnation {
			seen.Accepted.Index = 0
		}
	}
}

// result commits what became of an operation; only then may the agent forget it.
func (n *session) result(ctx context.Context, r *agentv1.OperationResult) error {
	ctx, cancel := context.WithTimeout(ctx, resultTimeout)
	defer cancel()
	err := enroll.Again(ctx, n.Store, n.Proposer, func(v state.View) (*state.Build, error) {
		op, ok := state.Get[*model.Operation](v, operationName(r.GetId()))
		if !ok || operationID(op) != r.GetId() || op.Node != n.node || op.Phase == model.OperationSucceeded || op.Phase == model.OperationFailed {
			return nil, nil // nobody waits for it any more
		}
		done := model.Clone(op)
		done.Phase, done.Result, done.DoneAt, done.OutOfSync = model.OperationFailed, r.GetText(), n.Clock(), r.GetOutOfSync()
		if r.GetSucceeded() {
			done.Phase = model.OperationSucceeded
		}
		if r.GetInterrupted() {
			done.Result += " (found after the agent was interrupted)"
		}
		return state.NewTxn(n.caller.Actor(), fmt.Sprintf("operation %s %s: %s", op.Name, done.Phase, done.Result)).Put(done), nil
	})
	if err != nil {
		n.Log.WarnContext(ctx, "result was not taken and will be asked for again", "node", n.node, "operation", r.GetId(), "err", err)
		return nil
	}
	return n.send(&agentv1.ToAgent{Message: &agentv1.ToAgent_ResultAck{ResultAck: &agentv1.ResultAck{Id: r.GetId()}}})
}
