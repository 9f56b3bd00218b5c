package drbdtest_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rvol/drbd"
)

// change is one of a field's value; the first is from nothing.
type change struct {
	object          drbd.EventObject
	field, from, to string
}

func (c change) compare(o change) int { return strings.Compare(fmt.Sprint(c), fmt.Sprint(o)) }

// changes are those that a stream of events tells.
type changes struct {
	mu    sync.Mutex
	seen  map[change]bool
	state map[string]string
}

// telling are the fields that are followed. Only on DRBD 9 do all of them exist.
var telling = map[drbd.EventObject][]string{
	drbd.ResourceEvent:   {"role", "suspended"},
	drbd.ConnectionEvent: {"connection", "role"},
	drbd.DeviceEvent:     {"disk", "client", "quorum"},
	drbd.PeerDeviceEvent: {"replication", "peer-disk", "peer-client", "resync-suspended"},
	drbd.PathEvent:       {"established"},
}

func newChanges() *changes { return &changes{seen: map[change]bool{}, state: map[string]string{}} }

func (c *changes) add(e drbd.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprint(e.Object, e.Fields["name"], e.Fields["peer-node-id"], e.Fields["volume"], e.Fields["local"])
	for _, field := range telling[e.Object] {
		value, told := e.Fields[field]
		old := c.state[key+field]
		switch {
		case e.Kind == drbd.Destroy:
			delete(c.state, key+field)
		case told && value != old:
			c.seen[change{e.Object, field, old, value}] = true
			c.state[key+field] = value
		}
	}
	return nil
}

// all lists what was seen so far: the stream may still run.
func (c *changes) all() []change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.seen), change.compare)
}

// follow collects the changes of a node until the test ends.
func (r *replay) follow(name string) {
	c := newChanges()
	r.told[name] = c
	ctx, stop := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // again when the node lost its power
			_ = drbd.Follow(ctx, r.node(name).Follow, c.add) // its end says nothing
			c.mu.Lock()
			clear(c.state)
			c.mu.Unlock()
			if ctx.Err() == nil && !r.sleep(ctx) {
				return
			}
		}
	}()
	r.Cleanup(func() {
		stop()
		<-done
	})
}

// asRecorded compares the changes that the simulated nodes told with all recorded ones.
func (r *replay) asRecorded() {
	r.Helper()
	recorded := newChanges()
	files, err := filepath.Glob(filepath.Join("..", "testdata", r.folder, "*events2-*"))
	r.ok(err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		r.ok(err)
		clear(recorded.state)
		for line := range bytes.Lines(text) {
			if e, err := drbd.ParseEvent(line); err == nil {
				r.ok(recorded.add(e))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.told)) {
		for _, ch := range r.told[name].all() {
			if !recorded.leads(ch, hops) && !slices.Contains(unrecorded, ch) {
				r.Errorf("%s told %s %s:%s>%s, which no recorded stream does", name, ch.object, ch.field, ch.from, ch.to)
			}
		}
	}
}

// hops is how many states between two the simulation may leave out: it is in WFBitMapS
// and the like for no time at all.
const hops = 3

// leads says that a change was told, in steps of which so many may be left out.
func (c *changes) leads(ch change, out int) bool {
	if ch.from == "" {
		return slices.ContainsFunc(slices.Collect(maps.Keys(c.seen)), func(s change) bool {
			return s.object == ch.object && s.field == ch.field && s.to == ch.to
		})
	}
	if c.seen[ch] || out == 0 {
		return c.seen[ch]
	}
	for s := range c.seen {
		if s.object == ch.object && s.field == ch.field && s.from == ch.from &&
			c.leads(change{ch.object, ch.field, s.to, ch.to}, out-1) {
			return true
		}
	}
	return false
}

// unrecorded are changes that no stream shows, because none was recorded of the node
// whose disk fails, and of the node that is verified.
var unrecorded = []change{
	{drbd.DeviceEvent, "disk", "UpToDate", "Failed"},
	{drbd.DeviceEvent, "disk", "Failed", "Diskless"},
	{drbd.PeerDeviceEvent, "replication", "Established", "VerifyT"},
	{drbd.PeerDeviceEvent, "replication", "VerifyT", "Established"},
}
