package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// linger is for how long a feed goes on that nobody watches: a browser that lost its connection comes back.
const linger = time.Minute

// maxWatchers are the streams of one session.
const maxWatchers = 16

var (
	errOver = errors.New("the session is over")
	errMany = errors.New("this session has too many windows open: close some")
)

// row is one thing that is shown, as it was last told.
type row struct {
	seq  uint64 // of the change that made it so
	text []byte // JSON; nil: it is gone
}

// feed is what a session's windows show. Each change of a row gets a number; a window remembers the last that it was
// told, and is told what is newer. So no window has a queue, however slow it is.
type feed struct {
	conn grpc.ClientConnInterface
	log  *slog.Logger

	mu       sync.Mutex
	epoch    string // numbers mean something within it
	seq      uint64
	floor    uint64 // who was told less than this begins anew: rows have been forgotten
	rows     map[string]row
	whole    bool          // everything has been read once
	changed  chan struct{} // closed and replaced at each change
	watchers int
	stop     context.CancelFunc // nil: nobody reads
	idle     *time.Timer
	err      error // why it is over for good
	running  sync.WaitGroup
}

func newFeed(conn grpc.ClientConnInterface, log *slog.Logger) *feed {
	return &feed{conn: conn, log: log, epoch: rand.Text()[:8], rows: map[string]row{}, changed: make(chan struct{})}
}

// watch begins to read, unless somebody does already.
func (f *feed) watch() (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return nil, f.err
	case f.watchers >= maxWatchers:
		return nil, errMany
	}
	f.watchers++
	if f.idle != nil {
		f.idle.Stop()
	}
	if f.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f.stop = cancel
		f.running.Go(func() { (&reader{feed: f}).run(ctx) })
	}
	return f.leave, nil
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers--; f.watchers == 0 {
		f.idle = time.AfterFunc(linger, f.rest)
	}
}

// rest stops reading. Whoever comes afterwards begins anew.
func (f *feed) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers > 0 || f.stop == nil {
		return
	}
	f.stop()
	f.stop, f.whole, f.rows, f.epoch, f.seq, f.floor = nil, false, map[string]row{}, rand.Text()[:8], 0, 0
}

// end is for good.
func (f *feed) end(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	f.err = why
	if f.stop != nil {
		f.stop()
	}
	if f.idle != nil {
		f.idle.Stop()
	}
	f.news()
}

// wait returns when nobody reads any more.
func (f *feed) wait() { f.running.Wait() }

// over says why it is over; nil: it is not.
func (f *feed) over() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// news wakes who watches. The lock is held.
func (f *feed) news() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// update is what a reader has found out: rows by key; nil is gone. A prefix in only says that of the keys that begin
// so these are all.
type update struct {
	rows  map[string][]byte
	only  []string
	whole bool
}

// apply takes an update, and counts what differs. A reader whose feed rests or is over is not heard.
func (f *feed) apply(ctx context.Context, u update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	before := f.seq
	for key, text := range u.rows {
		f.set(key, text)
	}
	for key, r := range f.rows {
		among := slices.ContainsFunc(u.only, func(p string) bool { return strings.HasPrefix(key, p) })
		if _, there := u.rows[key]; among && !there && r.text != nil {
			f.set(key, nil)
		}
	}
	if f.seq == before && f.whole == (f.whole || u.whole) {
		return
	}
	f.whole = f.whole || u.whole
	f.forget()
	f.news()
}

func (f *feed) set(key string, text []byte) {
	old, known := f.rows[key]
	if known && bytes.Equal(old.text, text) && (old.text == nil) == (text == nil) {
		return
	}
	if !known && text == nil {
		return
	}
	f.seq++
	f.rows[key] = row{f.seq, text}
}

// What is kept of what is no longer there, and of what happened.
const (
	maxGone   = 5000
	maxEvents = 300
)

// forget bounds what is kept.
func (f *feed) forget() {
	var gone, events []string
	for key, r := range f.rows {
		switch {
		case r.text == nil:
			gone = append(gone, key)
		case strings.HasPrefix(key, prefixEvent):
			events = append(events, key)
		}
	}
	drop := func(keys []string, keep int) {
		slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(f.rows[a].seq, f.rows[b].seq) })
		for _, key := range keys[:max(0, len(keys)-keep)] {
			f.floor = max(f.floor, f.rows[key].seq)
			delete(f.rows, key)
		}
	}
	drop(gone, maxGone)
	drop(events, maxEvents)
}

// told is a row with its key.
type told struct {
	key string
	row
}

// since returns the rows that changed after a window was last told, in the order in which they are worth knowing, and
// when to ask again. whole says that it must forget what it knew; nothing is told before everything has been read once.
func (f *feed) since(c cursor) (rows []told, next cursor, whole bool, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.whole {
		return nil, c, false, f.changed
	}
	whole = c.epoch != f.epoch || c.seq < f.floor || c.seq > f.seq
	for key, r := range f.rows {
		if whole && r.text != nil || !whole && r.seq > c.seq {
			rows = append(rows, told{key, r})
		}
	}
	slices.SortFunc(rows, func(a, b told) int {
		return cmp.Or(cmp.Compare(rank(a.key), rank(b.key)), cmp.Compare(a.key, b.key))
	})
	return rows, cursor{f.epoch, f.seq}, whole, f.changed
}
