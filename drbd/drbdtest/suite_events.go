package drbdtest

import (
	"context"
	"fmt"
	"sync"

	"rvol/drbd"
)

// listener follows a node's events into a table.
type listener struct {
	mu    sync.Mutex
	table *drbd.Table
}

// follow listens until the test ends.
func follow(s *stage, a *actor) *listener {
	s.Helper()
	l := &listener{table: drbd.NewTable()}
	ctx, stop := context.WithCancel(s.Context())
	var done sync.WaitGroup
	done.Go(func() {
		err := drbd.Follow(ctx, a.Follow, func(e drbd.Event) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.table.Apply(e)
		})
		if ctx.Err() == nil {
			s.Errorf("events of %s ended: %v", a.Name(), err)
		}
	})
	s.Cleanup(func() {
		stop()
		done.Wait()
	})
	s.world.Eventually(s.T, "dump of events", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.table.Complete() {
			return fmt.Errorf("not complete")
		}
		return nil
	})
	return l
}

func (l *listener) resource(name string) (drbd.Resource, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.Resource(name)
}

func (l *listener) past(resource string) map[drbd.Pair]drbd.Past {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.Past(resource)
}

// same waits until the events have told what status tells now.
func (l *listener) same(a *actor, when string) {
	a.Helper()
	a.world.Eventually(a.T, "events like status "+when, func() error {
		told, ok := l.resource(a.resource)
		asked, err := a.tool.Status(a.Context(), a.resource)
		if err != nil || !ok {
			return fmt.Errorf("told %t, asked %w", ok, err)
		}
		if one, two := summary(told), summary(asked); one != two {
			return fmt.Errorf("events tell %s, status tells %s", one, two)
		}
		return nil
	})
}

func (l *listener) gone(name string) error {
	if r, ok := l.resource(name); ok {
		return fmt.Errorf("still told: %+v", r)
	}
	return nil
}

// summary is what both ways of asking tell.
func summary(r drbd.Resource) string {
	all := []any{r.Name, r.Role, r.Suspended}
	for _, d := range r.Devices {
		all = append(all, d.Volume, d.Minor, d.Disk, d.Quorum, d.Size)
	}
	for _, p := range r.Peers {
		all = append(all, p.NodeID, p.Name, p.Conn, p.Role)
		for _, d := range p.Devices {
			all = append(all, d.Volume, d.Repl, d.Disk, d.OutOfSync)
		}
	}
	return fmt.Sprintln(all...)
}
