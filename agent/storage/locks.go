package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Locks lets one command at a time change a volume group. A command that is
// stuck keeps its group locked until it has ended; whoever comes meanwhile is
// told so at once instead of being lined up behind it.
type Locks struct {
	mu    sync.Mutex
	locks map[string]*lock
}

// NewLocks returns Locks with nothing locked. All backends of a machine share one.
func NewLocks() *Locks { return &Locks{locks: map[string]*lock{}} }

// A StuckError says that a command which changes the group has not ended.
type StuckError struct {
	VG  string
	Err error // which process, and where it waits
}

// Error names the group and the process.
func (e *StuckError) Error() string {
	return fmt.Sprintf("%v: %s: %v; nothing in it is changed until that ends", ErrStuck, e.VG, e.Err)
}

// Unwrap gives ErrStuck and what the Runner said.
func (e *StuckError) Unwrap() []error { return []error{ErrStuck, e.Err} }

// A stuckCommand is what a Runner returns for a command that it had to leave
// running; host.StuckError is one.
type stuckCommand interface {
	error
	Command() []string
	Done() <-chan struct{}
}

// Stuck tells why a group cannot be touched now; nil when it can.
func (l *Locks) Stuck(vg string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.locks[vg]; ok {
		return k.stuck
	}
	return nil
}

// Change runs f while nobody else changes vg.
func (l *Locks) Change(ctx context.Context, vg string, f func() error) error {
	k, err := l.take(ctx, vg)
	if err != nil {
		return err
	}
	err = f()
	s, ok := errors.AsType[stuckCommand](err)
	if !ok {
		l.free(vg, k)
		return err
	}
	stuck, known := errors.AsType[*StuckError](err)
	if !known { // else by a lock within this one
		stuck = &StuckError{VG: vg, Err: err}
	}
	l.keep(vg, stuck, s)
	return stuck
}

// Keep locks the group that a command left running by an earlier agent changes.
func (l *Locks) Keep(s stuckCommand) {
	vg := groupOf(s.Command())
	l.keep(vg, &StuckError{VG: vg, Err: s}, s)
}

// groupOf reads the volume group from a command of package lvm. All of them end
// with VG or VG/LV, but vgcreate, which ends with VG DEVICE.
func groupOf(argv []string) string {
	last := argv[len(argv)-1]
	if argv[0] == "vgcreate" && len(argv) > 2 {
		last = argv[len(argv)-2]
	}
	vg, _, _ := strings.Cut(last, "/")
	return vg
}

// A lock is there while it is taken; stuck says by which command that does not
// end.
type lock struct {
	stuck   error         // a *StuckError, or nil
	changed chan struct{} // closed when the lock is freed or gets stuck
}

func (l *Locks) take(ctx context.Context, name string) (*lock, error) {
	for {
		l.mu.Lock()
		k, taken := l.locks[name]
		if !taken {
			k = &lock{changed: make(chan struct{})}
			l.locks[name] = k
		}
		stuck := k.stuck
		l.mu.Unlock()
		switch {
		case !taken:
			return k, nil
		case stuck != nil:
			return nil, stuck
		}
		select {
		case <-k.changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s, which another command changes: %w", name, ctx.Err())
		}
	}
}

func (l *Locks) free(name string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(k.changed)
	if l.locks[name] == k {
		delete(l.locks, name)
	}
}

// keep puts a lock in the place of another, until the stuck command has ended
// and so has one that was stuck before it.
func (l *Locks) keep(name string, err *StuckError, s stuckCommand) {
	k := &lock{stuck: err, changed: make(chan struct{})}
	l.mu.Lock()
	before := l.locks[name]
	l.locks[name] = k
	l.mu.Unlock()
	if before != nil && before.stuck == nil {
		close(before.changed) // who waits finds the new one
		before = nil
	}
	// Its owner is the command: nobody can wait for this goroutine any sooner.
	go func() {
		<-s.Done()
		if before != nil {
			<-before.changed
		}
		l.free(name, k)
	}()
}
