package probe

import (
	"context"
	"errors"
	"sync"
)

// ErrHangs is the answer about a part that does not come back.
var ErrHangs = errors.New("a lock is not given back: the process hangs")

// Within makes a check of something that returns at once, unless the process hangs. However often
// it is asked, at most one call waits.
func Within(touch func()) func(context.Context) error {
	var mu sync.Mutex
	var under chan struct{} // closed when the call under way returns
	return func(ctx context.Context) error {
		mu.Lock()
		if under == nil {
			done := make(chan struct{})
			under = done
			go func() {
				touch()
				mu.Lock()
				under = nil
				mu.Unlock()
				close(done)
			}()
		}
		done := under
		mu.Unlock()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ErrHangs
		}
	}
}
