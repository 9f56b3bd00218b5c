package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"rvol/agent/decide"
	"rvol/agent/fence"
	agentv1 "rvol/proto/agent/v1"
)

type stream = grpc.BidiStreamingClient[agentv1.FromAgent, agentv1.ToAgent]

// Times of a conversation.
const (
	debounce    = 5 * time.Millisecond   // of reports: what happens together is told together
	leisure     = 300 * time.Millisecond // the same of progress, which only people read
	resendAfter = 15 * time.Second       // of results that nobody acknowledged
	sendTime    = 10 * time.Second       // for one message to be taken
)

// A conversation is what is remembered during one stream.
type conversation struct {
	*Session
	stream   stream
	sequence uint64
	sent     *agentv1.Report      // newest section of each kind
	results  map[string]time.Time // when sent
	asked    map[uint64]time.Time // likewise, of questions
	heard    time.Time            // when the coordinator last said anything
	full     bool                 // a full report is due
	ready    <-chan struct{}      // closed when there is something to report; nil then
	soon     <-chan time.Time     // when the next report goes out; nil: none is due
	due      time.Time            // the same

	collection // what a coordinator wants to know beside
}

// converse sends reports, results and heartbeats, and takes orders.
func (s *Session) converse(ctx context.Context, cancel context.CancelCauseFunc, st stream, beat time.Duration) error {
	c := &conversation{Session: s, stream: st, results: map[string]time.Time{}, asked: map[uint64]time.Time{}, heard: time.Now(), full: true}
	c.parts = make(chan *agentv1.CollectedPart)
	in := make(chan *agentv1.ToAgent)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(c.receive(ctx, in))
	}()
	defer func() { cancel(nil); <-ended; c.collectors.Wait() }()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	c.ready = s.Ready
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-in:
			err = c.take(ctx, m)
		case <-c.ready:
			c.ready = nil
			c.speak(debounce)
		case <-s.changed:
			err = c.ask(cancel)
			c.speak(debounce)
		case <-s.progress:
			c.speak(leisure)
		case <-c.soon:
			err = c.report(ctx, cancel)
		case p := <-c.parts:
			err = c.send(cancel, &agentv1.FromAgent{Message: &agentv1.FromAgent_Collected{Collected: p}})
		case <-tick.C:
			err = c.beat(cancel, beat)
		}
		if err != nil {
			return causeOf(ctx, err)
		}
	}
}

// speak lets a report follow within a time, unless the first observation is
// not there yet.
func (c *conversation) speak(within time.Duration) {
	at := time.Now().Add(within)
	if c.ready == nil && (c.soon == nil || at.Before(c.due)) {
		c.due, c.soon = at, time.After(within)
	}
}

// beat says that the agent is alive. A coordinator that has not answered the
// last one is gone, although nobody has closed the connection.
func (c *conversation) beat(cancel context.CancelCauseFunc, beat time.Duration) error {
	if silence := time.Since(c.heard); silence > beat+beat/2 {
		return fmt.Errorf("%w for %v", errMute, silence)
	}
	err := c.send(cancel, &agentv1.FromAgent{Message: &agentv1.FromAgent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}})
	if err != nil {
		return err
	}
	if err := c.ask(cancel); err != nil {
		return err
	}
	return c.sendResults(cancel)
}

// askAgain is when a question is repeated that nobody answered.
const askAgain = 2 * time.Second

// ask sends the questions that are open. They wait for no report: I/O is
// frozen meanwhile.
func (c *conversation) ask(cancel context.CancelCauseFunc) error {
	for _, q := range c.Questions() {
		if at, sent := c.asked[q.Number]; sent && time.Since(at) < askAgain {
			continue
		}
		m := &agentv1.SoleRequest{Volume: q.Volume, ReplicaUid: q.ReplicaUID, Resource: q.Resource, Primary: q.Primary, Number: q.Number}
		if err := c.send(cancel, &agentv1.FromAgent{Message: &agentv1.FromAgent_SoleRequest{SoleRequest: m}}); err != nil {
			return err
		}
		c.asked[q.Number] = time.Now()
	}
	return nil
}

// receive hands messages over until the stream breaks.
func (c *conversation) receive(ctx context.Context, in chan<- *agentv1.ToAgent) error {
	for {
		m, err := c.stream.Recv()
		if err != nil {
			return fmt.Errorf("session broke: %w", err)
		}
		select {
		case in <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

// take acts on one message. One of an unknown kind is from a younger
// coordinator and is passed over.
func (c *conversation) take(ctx context.Context, m *agentv1.ToAgent) error {
	c.heard = time.Now()
	switch m := m.Message.(type) {
	case *agentv1.ToAgent_Desired:
		c.speak(debounce)
		return c.order(ctx, m.Desired)
	case *agentv1.ToAgent_ReportRequest:
		c.full = true
		c.speak(debounce)
	case *agentv1.ToAgent_ResultAck:
		return c.Acked(m.ResultAck.Id)
	case *agentv1.ToAgent_SoleAnswer:
		n := m.SoleAnswer
		c.Answered(fence.Answer{Number: n.Number, Granted: n.Granted, Holder: n.Holder, Round: n.Round, Reason: n.Reason})
	case *agentv1.ToAgent_CollectRequest:
		c.collect(ctx, m.CollectRequest)
	case *agentv1.ToAgent_NotLeader:
		c.learn(m.NotLeader)
		return &notLeader{m.NotLeader.Leader}
	case *agentv1.ToAgent_Welcome:
		return fmt.Errorf("%w: second welcome", errProtocol)
	}
	return nil
}

// order puts an order in force. One that is refused changes nothing: what was
// accepted before stands in every report.
func (c *conversation) order(ctx context.Context, m *agentv1.Desired) error {
	d, err := desiredIn(m)
	if err == nil {
		err = c.Accept(d)
	}
	if fatal, ok := errors.AsType[*FatalError](err); ok {
		return fatal
	}
	if err != nil {
		c.Log.WarnContext(ctx, "order not accepted", "rev", d.Order.String(), "err", err)
		if c.sent != nil {
			c.sent.Accepted = nil // say again what was accepted
		}
		return nil
	}
	c.Log.InfoContext(ctx, "order accepted", "rev", d.Order.String())
	return nil
}

// report sends what has changed since the last one of this session.
func (c *conversation) report(ctx context.Context, cancel context.CancelCauseFunc) error {
	c.soon = nil
	if err := c.sendResults(cancel); err != nil {
		return err
	}
	now := reportOut(c.Report())
	out := now
	if !c.full {
		out = changes(c.sent, now)
	}
	if out == nil {
		return nil
	}
	c.sequence++
	out.Full, out.Sequence = c.full, c.sequence
	if err := c.send(cancel, &agentv1.FromAgent{Message: &agentv1.FromAgent_Report{Report: out}}); err != nil {
		return err
	}
	c.Log.DebugContext(ctx, "reported", "rev", out.Sequence)
	c.sent, c.full = now, false
	return nil
}

// changes keeps the sections that differ; nil: none does.
func changes(was, now *agentv1.Report) *agentv1.Report {
	out := &agentv1.Report{Accepted: now.Accepted}
	some := !proto.Equal(was.Accepted, now.Accepted)
	if !proto.Equal(was.Storage, now.Storage) {
		out.Storage, some = now.Storage, true
	}
	if !proto.Equal(was.Resources, now.Resources) {
		out.Resources, some = now.Resources, true
	}
	if !proto.Equal(was.Replicas, now.Replicas) {
		out.Replicas, some = now.Replicas, true
	}
	if !proto.Equal(was.Conditions, now.Conditions) {
		out.Conditions, some = now.Conditions, true
	}
	if !proto.Equal(was.Capabilities, now.Capabilities) {
		out.Capabilities, some = now.Capabilities, true
	}
	if !proto.Equal(was.Kept, now.Kept) {
		out.Kept, some = now.Kept, true
	}
	if !proto.Equal(was.Addresses, now.Addresses) {
		out.Addresses, some = now.Addresses, true
	}
	if !some {
		return nil
	}
	return out
}

// sendResults sends what is not acknowledged, and again after a while.
func (c *conversation) sendResults(cancel context.CancelCauseFunc) error {
	for _, r := range c.Results() {
		if at, sent := c.results[r.ID]; sent && time.Since(at) < resendAfter {
			continue
		}
		if err := c.send(cancel, &agentv1.FromAgent{Message: &agentv1.FromAgent_Result{Result: resultOut(r)}}); err != nil {
			return err
		}
		c.results[r.ID] = time.Now()
	}
	return nil
}

// send gives up on a coordinator that takes nothing any more.
func (c *conversation) send(cancel context.CancelCauseFunc, m *agentv1.FromAgent) error {
	stuck := time.AfterFunc(sendTime, func() { cancel(errors.New("coordinator takes no messages")) })
	defer stuck.Stop()
	return c.stream.Send(m)
}

func resultOut(r decide.Result) *agentv1.OperationResult {
	return &agentv1.OperationResult{Id: r.ID, Succeeded: r.Succeeded, Text: r.Text, Interrupted: r.Interrupted, OutOfSync: r.OutOfSync}
}
