package state

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"rvol/coordinator/model"
)

// Watch calls fn, from one goroutine, after the state has changed: with the index it is
// at and the keys that changed since the last call, sorted. Nil keys mean that everything
// may have, as after a snapshot. A slow fn never blocks Apply: it is told of several
// entries at once. stop waits for a running fn to return; fn must not call it.
func (s *Store) Watch(fn func(index uint64, keys []model.Key)) (stop func()) {
	w := &watcher{fn: fn, wake: make(chan struct{}, 1), keys: map[model.Key]struct{}{}}
	s.mu.Lock()
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
	var run sync.WaitGroup
	run.Go(w.run)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		delete(s.watchers, w)
		close(w.wake)
		s.mu.Unlock()
		run.Wait()
	})
}

// A watcher gathers what its function has not been told yet.
type watcher struct {
	fn   func(uint64, []model.Key)
	wake chan struct{}

	mu    sync.Mutex
	index uint64
	keys  map[model.Key]struct{}
	all   bool
}

// tell is called with the store locked.
func (w *watcher) tell(index uint64, keys []model.Key) {
	w.mu.Lock()
	w.index = index
	for _, k := range keys {
		w.keys[k] = struct{}{}
	}
	w.mu.Unlock()
	w.rouse()
}

// tellAll says that everything may have changed.
func (w *watcher) tellAll(index uint64) {
	w.mu.Lock()
	w.index, w.all = index, true
	w.mu.Unlock()
	w.rouse()
}

func (w *watcher) rouse() {
	select {
	case w.wake <- struct{}{}:
	default: // it has not come round yet
	}
}

func (w *watcher) run() {
	for range w.wake {
		w.mu.Lock()
		index, all, keys := w.index, w.all, w.keys
		w.keys, w.all = map[model.Key]struct{}{}, false
		w.mu.Unlock()
		switch {
		case all:
			w.fn(index, nil)
		case len(keys) > 0:
			w.fn(index, slices.SortedFunc(maps.Keys(keys), compareKeys))
		}
	}
}

func compareKeys(a, b model.Key) int {
	if byKind := cmp.Compare(a.Kind, b.Kind); byKind != 0 {
		return byKind
	}
	return cmp.Compare(a.Name, b.Name)
}
