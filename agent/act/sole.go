package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
)

// promote asks first where the kernel would not: DRBD 8.4 remembers that its
// peer was outdated, and the coordinators may have thought better of it.
func (e *Engine) promote(ctx context.Context, s decide.Primary) error {
	if s.Ask {
		if err := e.MayServeAlone(ctx, s.Resource); err != nil {
			return err
		}
	}
	return e.DRBD.Tool().Primary(ctx, e.ref(s.Target))
}

// connectPause is how often a connection is tried that DRBD has given up.
const connectPause = 20 * time.Second

var errStandAlone = errors.New("DRBD has given up the connection, and tries it again from time to time: if the copies' data went apart, see the kernel's log")

// connect tries once in a while: copies that went apart refuse each other
// every time.
func (e *Engine) connect(ctx context.Context, s decide.Connect) error {
	e.mu.Lock()
	early := time.Since(e.tried[s.String()]) < connectPause
	if !early {
		e.tried[s.String()] = time.Now()
	}
	e.mu.Unlock()
	if early {
		return errStandAlone
	}
	err := e.DRBD.Tool().Connect(ctx, e.ref(s.Target), s.Peer)
	if errors.Is(err, drbd.ErrAlreadyConnected) {
		return nil
	}
	return err
}

// confirmTogether looks at the kernel while no grant is being used, so that a
// grant is over for good once this says so.
func (e *Engine) confirmTogether(ctx context.Context, s decide.ConfirmTogether) error {
	e.sole.Lock()
	defer e.sole.Unlock()
	r, up, err := e.DRBD.Fresh(ctx, s.Resource)
	if err != nil || !up || !decide.Together(r) {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts.together[s.Resource] = s.Round
	return nil
}

// Resume lets the frozen I/O of a resource go on under the grant of a round.
func (e *Engine) Resume(ctx context.Context, resource string, round int64) error {
	e.sole.Lock()
	defer e.sole.Unlock()
	e.mu.Lock()
	over := e.facts.together[resource]
	e.mu.Unlock()
	if over >= round {
		return fmt.Errorf("resume I/O of %s: grant %d is over: the copies were together since", resource, round)
	}
	r, up, err := e.DRBD.Fresh(ctx, resource)
	if err != nil || !up || !decide.Frozen(r) {
		return err
	}
	for _, d := range r.Devices {
		if err := e.DRBD.Tool().ResumeIO(ctx, d.Minor); err != nil {
			return err
		}
	}
	return nil
}

// Frozen names the resources of the order whose I/O waits for a grant.
func (e *Engine) Frozen() []string {
	e.mu.Lock()
	order := e.order
	e.mu.Unlock()
	var names []string
	for _, r := range e.DRBD.View().Resources {
		if want, ok := order.Resource(r.Name); ok && want.Arbitrated() && decide.Frozen(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

// Resource is the order for a resource, and what is seen of it.
func (e *Engine) Resource(name string) (want decide.Resource, seen drbd.Resource, known bool) {
	e.mu.Lock()
	want, known = e.order.Resource(name)
	e.mu.Unlock()
	for _, r := range e.DRBD.ViewOf(name).Resources {
		return want, r, known
	}
	return want, drbd.Resource{}, false
}
