package drbdtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rvol/drbd"
)

// follower is one events2 that runs.
type follower struct {
	lines []string
}

// Follow runs drbdsetup events2; it fits drbd.Follower.
func (n *Node) Follow(ctx context.Context, argv []string, line func([]byte) error) error {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := n.begin(argv); err != nil {
		return err
	}
	if !slices.Equal(argv, []string{"drbdsetup", "events2", "--timestamps", "--statistics"}) {
		return usage("events2")
	}
	if p := n.fault(plain(argv)); p != nil {
		out, err := n.spoil(ctx, p, func() ([]byte, error) { return []byte("exists -"), nil })
		if err != nil {
			return err
		}
		return line(out)
	}
	return n.stream(ctx, line)
}

// stream tells what is, and then what changes.
func (n *Node) stream(ctx context.Context, line func([]byte) error) error {
	f := n.fabric
	w := &follower{}
	for _, r := range n.sorted() {
		r.publish() // to the others
		for _, o := range n.told[r.name] {
			w.tell(drbd.Exists, o.kind, " "+o.key+o.state.String()+o.counts.String())
		}
	}
	w.tell(drbd.Exists, drbd.EndOfDump, "")
	n.followers[w] = struct{}{}
	defer delete(n.followers, w)
	boots, streams := n.boots, n.streams
	for {
		if err := w.hand(&f.mu, line); err != nil {
			return err
		}
		if len(w.lines) > 0 {
			continue
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
		switch {
		case !n.on || n.boots != boots:
			return errNoPower
		case n.streams != streams:
			return refuse(143, "Terminated")
		}
	}
}

// hand gives the lines away, without the lock.
func (w *follower) hand(mu *sync.Mutex, line func([]byte) error) error {
	lines := w.lines
	w.lines = nil
	mu.Unlock()
	defer mu.Lock()
	for _, l := range lines {
		if err := line([]byte(l)); err != nil {
			return err
		}
	}
	return nil
}

// EndStreams makes every events2 of the node end, as when it is killed.
func (n *Node) EndStreams() {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	n.streams++
	f.wake()
}

func (w *follower) tell(kind drbd.EventKind, object drbd.EventObject, rest string) {
	at := time.Now().Format("2006-01-02T15:04:05.000000-07:00")
	w.lines = append(w.lines, fmt.Sprintf("%s %s %s%s", at, kind, object, rest))
}

// publish tells every follower what changed of a resource.
func (r *resource) publish() { r.node.publish(r.name) }

// publish tells every follower what changed of a resource, be it that it is
// gone.
func (n *Node) publish(name string) {
	var now []object
	if r := n.resources[name]; r != nil {
		now = r.objects()
	}
	told := n.told[name]
	for _, o := range slices.Backward(told) {
		if find(now, o) == nil {
			n.tellAll(drbd.Destroy, o.kind, " "+destroyKey(n, o))
		}
	}
	for _, o := range now {
		old := find(told, o)
		if old == nil {
			n.tellAll(drbd.Create, o.kind, " "+o.key+o.state.String()+o.counts.String())
			continue
		}
		state, counts := changes(old.state, o.state), changes(old.counts, o.counts)
		if len(state) > 0 || len(counts) > 0 && o.kind != drbd.DeviceEvent { // of a device's size nobody is told
			n.tellAll(drbd.Change, o.kind, " "+o.key+state.String()+o.counts.String())
		}
	}
	if n.told[name] = now; now == nil {
		delete(n.told, name)
	}
	n.fabric.wake()
}

// publishNamed publishes the resources that a command line names, by name or
// minor.
func (n *Node) publishNamed(argv []string) {
	for _, word := range argv {
		name, _, _ := strings.Cut(word, "/")
		if n.resources[name] != nil || n.told[name] != nil {
			n.publish(name)
		}
		minor, err := strconv.Atoi(word)
		if d := n.device(drbd.Minor(minor)); err == nil && d != nil {
			d.res.publish()
		}
	}
}

// destroyKey leaves the minor out, as DRBD 9 does.
func destroyKey(n *Node, o object) string {
	if o.kind != drbd.DeviceEvent || n.version.Is84() {
		return o.key
	}
	var name string
	var volume, minor int
	if _, err := fmt.Sscanf(o.key, "name:%s volume:%d minor:%d", &name, &volume, &minor); err != nil {
		panic(errors.Join(errors.New("drbdtest: key of a device"), err))
	}
	return fmt.Sprintf("name:%s volume:%d", name, volume)
}

func (n *Node) tellAll(kind drbd.EventKind, object drbd.EventObject, rest string) {
	if object == drbd.PeerDeviceEvent && kind == drbd.Destroy && !n.version.Is84() {
		return // goes with its connection
	}
	for w := range n.followers {
		w.tell(kind, object, rest)
	}
}

func find(all []object, o object) *object {
	for i := range all {
		if all[i].kind == o.kind && all[i].key == o.key {
			return &all[i]
		}
	}
	return nil
}

// changes lists the fields that differ.
func changes(old, now fields) fields {
	var out fields
	for _, f := range now {
		if !slices.Contains(old, f) {
			out = append(out, f)
		}
	}
	return out
}
