package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
)

// doWithPeer carries out operations on two copies.
func (e *Engine) doWithPeer(ctx context.Context, step decide.Step) error {
	switch s := step.(type) {
	case decide.MeetAgain:
		return e.run(s.Operation, "connected", func() error { return e.meetAgain(ctx, s) })
	case decide.TakeAsGood:
		return e.run(s.Operation, "UpToDate by order", func() error { return e.takeAsGood(ctx, s) })
	case decide.Repair:
		return e.run(s.Operation, "what differed is being copied", func() error { return e.repair(ctx, s) })
	case decide.Verify:
		return e.verify(ctx, s)
	}
	return fmt.Errorf("no way to %s", step)
}

// run writes down that an operation begins, and how it ended. What no tool refused may have
// happened: that is looked at.
func (e *Engine) run(operation, text string, do func() error) error {
	if err := e.Journal.Start(operation); err != nil {
		return err
	}
	result := decide.Result{ID: operation, Succeeded: true, Text: text}
	err := do()
	if _, refused := errors.AsType[*drbd.Error](err); refused {
		result.Succeeded, result.Text = false, err.Error()
	} else if err != nil {
		return err
	}
	if err := e.reached("ran: " + operation); err != nil {
		return err
	}
	return e.Journal.Finish(result)
}

// meetAgain connects; a try that DRBD makes by itself does not know that it is to give up
// anything.
func (e *Engine) meetAgain(ctx context.Context, s decide.MeetAgain) error {
	tool, ref := e.DRBD.Tool(), e.ref(s.Target)
	if !s.Discard {
		err := tool.Connect(ctx, ref, s.Peer)
		if errors.Is(err, drbd.ErrAlreadyConnected) {
			return nil
		}
		return err
	}
	err := patiently(ctx, drbd.ErrTransient, func() error { return tool.Disconnect(ctx, ref, s.Peer) })
	if err != nil && !errors.Is(err, drbd.ErrNoConnection) {
		return err
	}
	return tool.ConnectDiscarding(ctx, ref, s.Peer)
}

// tries and pause are for what passes by itself: udev looks at every new Primary for a moment,
// and DRBD 8.4 changes no connection that shakes hands.
const (
	tries = 50
	pause = 100 * time.Millisecond
)

// patiently tries again what is refused for a reason that passes.
func patiently(ctx context.Context, passing error, do func() error) error {
	for range tries {
		if err := do(); !errors.Is(err, passing) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return do()
}

// takeAsGood makes the disk UpToDate, and the node what it was before: nobody is to take the
// Primary that DRBD makes it for one that was granted.
func (e *Engine) takeAsGood(ctx context.Context, s decide.TakeAsGood) error {
	tool, ref := e.DRBD.Tool(), e.ref(s.Target)
	if err := tool.ForcePrimary(ctx, ref); err != nil || s.Stay {
		return err
	}
	err := patiently(ctx, drbd.ErrHeldOpen, func() error { return tool.Secondary(ctx, ref) })
	if errors.Is(err, drbd.ErrHeldOpen) {
		return nil // it is demoted as any that is not to be Primary
	}
	return err
}

// verify begins on every device; the rest is seen.
func (e *Engine) verify(ctx context.Context, s decide.Verify) error {
	v := e.DRBD.ViewOf(s.Resource)
	e.mu.Lock()
	e.facts.verifying[s.Operation] = decide.Verifying{Stream: v.Stream, Past: v.Past}
	e.mu.Unlock()
	if err := e.Journal.Start(s.Operation); err != nil {
		return err
	}
	for volume := range s.Minors {
		err := e.DRBD.Tool().Verify(ctx, e.ref(s.Target), s.Peer, volume)
		if _, refused := errors.AsType[*drbd.Error](err); refused {
			return e.Journal.Finish(decide.Result{ID: s.Operation, Text: err.Error()})
		}
		if err != nil {
			return err
		}
	}
	return e.reached("ran: " + s.String())
}

// repair lets what differs be copied. DRBD 8.4 copies it when the two meet again and one of
// them is newer: a Primary becomes that by parting, a Secondary is told.
func (e *Engine) repair(ctx context.Context, s decide.Repair) error {
	tool, ref := e.DRBD.Tool(), e.ref(s.Target)
	if !tool.Version().Is84() {
		for _, minor := range s.Minors {
			if err := tool.RepairFrom(ctx, minor, s.Peer); err != nil {
				return err
			}
		}
		return nil
	}
	if err := patiently(ctx, drbd.ErrTransient, func() error { return tool.Disconnect(ctx, ref, s.Peer) }); err != nil {
		return err
	}
	for volume, minor := range s.Minors {
		gi, err := tool.Generations(ctx, ref, s.Peer, volume)
		if err == nil && gi.Bitmap == 0 {
			err = tool.NewGeneration(ctx, minor)
		}
		if err != nil {
			return errors.Join(err, tool.Connect(ctx, ref, s.Peer))
		}
	}
	return tool.Connect(ctx, ref, s.Peer)
}
