package act

import (
	"context"
	"fmt"
	"maps"
	"time"

	"rvol/agent/decide"
)

// told is what a resource of DRBD 8.4 has told its peer, and since when there could be something to tell.
type told struct {
	stream int
	ends   map[int]int // by device
	rests  time.Time
}

// lookAtRest adds to the input what is known of the ends of resyncs. The engine is locked.
func (e *Engine) lookAtRest(in *decide.Input, name string) {
	t := e.facts.told[name]
	if t.stream != in.Observed.Stream {
		t.stream, t.ends = in.Observed.Stream, nil
	}
	t.rests = decide.RestsSince(t.rests, in.Observed, name, time.Now())
	in.Facts.Told, in.Facts.Rests = t.ends, !t.rests.IsZero() && time.Since(t.rests) >= decide.TellAfter
	if e.facts.told[name] = t; t.ends == nil && t.rests.IsZero() {
		delete(e.facts.told, name)
	}
}

// tellsIn is how long it is until a peer is to be told something; 0: it is not. The engine is locked.
func (e *Engine) tellsIn(name string) time.Duration {
	r, ordered := e.order.Resource(name)
	rests := e.facts.told[name].rests
	if !ordered || rests.IsZero() {
		return 0
	}
	facts := e.Journal.Facts().Backings
	for _, d := range r.Devices {
		if d.Backing != nil && facts[d.Backing.Reservation].Untold {
			return max(decide.TellAfter-time.Since(rests), 0)
		}
	}
	return 0
}

// doFilled carries out what is about copies that were filled.
func (e *Engine) doFilled(ctx context.Context, in decide.Input, step decide.Step) error {
	switch s := step.(type) {
	case decide.RememberFilled: // before its end is waited for: this process may not live to see that
		return e.untold(in, s.Resource, s.Number, s.Reservation, decide.BackingFact{Untold: true})
	case decide.TellPeer:
		if err := e.untold(in, s.Resource, s.Number, s.Reservation, decide.BackingFact{Untold: true, Telling: true}); err != nil {
			return err
		}
		if err := e.DRBD.Tool().TellPeer(ctx, s.Minor); err != nil {
			return err
		}
		return e.untold(in, s.Resource, s.Number, s.Reservation, decide.BackingFact{})
	}
	return fmt.Errorf("no way to %s", step)
}

// untold writes down whether there is something to tell of a device, which is all that was seen of it so far.
func (e *Engine) untold(in decide.Input, resource string, number int, reservation string, is decide.BackingFact) error {
	fact := e.Journal.Facts().Backings[reservation]
	fact.Untold, fact.Telling = is.Untold, is.Telling
	if err := e.Journal.Backing(reservation, fact); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.facts.told[resource]
	t.ends = maps.Clone(t.ends)
	if t.ends == nil {
		t.ends = map[int]int{}
	}
	for pair, past := range in.Observed.Past {
		if pair.Volume == number && t.stream == in.Observed.Stream {
			t.ends[number] = past.Filled
		}
	}
	e.facts.told[resource] = t
	return nil
}
