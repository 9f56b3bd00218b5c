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
	k := l.lock(vg)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stuck
}

// Change runs f while nobody else changes vg.
func (l *Locks) Change(ctx context.Context, vg string, f func() error) error {
	k := l.lock(vg)
	if err := k.take(ctx, vg); err != nil {
		return err
	}
	err := f()
	s, ok := errors.AsType[stuckCommand](err)
	if !ok {
		k.set(false, nil)
		return err
	}
	if stuck, known := errors.AsType[*StuckError](err); known {
		return k.keep(stuck, s) // by a lock within this one
	}
	return k.keep(&StuckError{VG: vg, Err: err}, s)
}

// Keep locks the group that a command left running by an earlier agent changes.
func (l *Locks) Keep(s stuckCommand) {
	vg := groupOf(s.Command())
	_ = l.lock(vg).keep(&StuckError{VG: vg, Err: s}, s) // whoever gave us s has the error
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

func (l *Locks) lock(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.locks[name]
	if !ok {
		k = &lock{changed: make(chan struct{})}
		l.locks[name] = k
	}
	return k
}

// A lock is free, taken, or kept by a stuck command.
type lock struct {
	mu      sync.Mutex
	taken   bool
	stuck   error         // a *StuckError, or nil
	changed chan struct{} // closed at the next change
}

func (k *lock) take(ctx context.Context, name string) error {
	for {
		k.mu.Lock()
		if k.stuck != nil {
			defer k.mu.Unlock()
			return k.stuck
		}
		if !k.taken {
			k.taken = true
			k.mu.Unlock()
			return nil
		}
		changed := k.changed
		k.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s, which another command changes: %w", name, ctx.Err())
		}
	}
}

func (k *lock) set(taken bool, stuck error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.taken, k.stuck = taken, stuck
	close(k.changed)
	k.changed = make(chan struct{})
}

// keep holds the lock until the stuck command has ended.
func (k *lock) keep(err *StuckError, s stuckCommand) error {
	k.set(true, err)
	// Its owner is the command: nobody can wait for this goroutine any sooner.
	go func() {
		<-s.Done()
		k.set(false, nil)
	}()
	return err
}
