package inventory

import (
	"maps"
	"sync"
	"time"
)

// Inventory collects reports. One goroutine per session writes, everybody reads views.
type Inventory struct {
	mu       sync.Mutex
	nodes    map[string]*Node // values are replaced, never changed
	sessions uint64
	watchers map[int]func(node string)
	next     int
}

// New returns an empty inventory.
func New() *Inventory {
	return &Inventory{nodes: map[string]*Node{}, watchers: map[int]func(string){}}
}

// View is what was known at one moment.
type View struct{ nodes map[string]*Node }

// View returns what is known now. It does not change afterwards.
func (i *Inventory) View() View {
	i.mu.Lock()
	defer i.mu.Unlock()
	return View{maps.Clone(i.nodes)}
}

// Node returns what the named node's agent last said; nil: nothing since the election.
func (v View) Node(name string) *Node { return v.nodes[name] }

// NewView makes a view of the given nodes, for tests.
func NewView(nodes ...*Node) View {
	v := View{map[string]*Node{}}
	for _, n := range nodes {
		v.nodes[n.Name] = n
	}
	return v
}

// Open begins a session of node at now and returns its number. What an older session
// still says is ignored from here on.
func (i *Inventory) Open(node string, now time.Time) uint64 {
	i.mu.Lock()
	i.sessions++
	n := &Node{Name: node, Session: i.sessions, Connected: true, Heard: now}
	if old := i.nodes[node]; old != nil {
		// What was seen stays visible, but is not relied on until the first full report.
		c := *old
		c.Session, c.Connected, c.Heard, c.Full = n.Session, true, now, false
		n = &c
	}
	i.nodes[node] = n
	i.mu.Unlock()
	i.notify(node)
	return n.Session
}

// Update changes what session says of its node; change gets a copy. It reports false
// when the session is no longer the node's newest.
func (i *Inventory) Update(node string, session uint64, now time.Time, change func(*Node)) bool {
	if !i.replace(node, session, now, change) {
		return false
	}
	i.notify(node)
	return true
}

// Heard notes a sign of life. It wakes nobody.
func (i *Inventory) Heard(node string, session uint64, now time.Time) bool {
	return i.replace(node, session, now, func(*Node) {})
}

// Close ends a session; the node's facts stay, no longer Known.
func (i *Inventory) Close(node string, session uint64) {
	i.mu.Lock()
	n := i.nodes[node]
	if n == nil || n.Session != session {
		i.mu.Unlock()
		return
	}
	c := *n
	c.Connected = false
	i.nodes[node] = &c
	i.mu.Unlock()
	i.notify(node)
}

// Reset forgets everything: a new leader knows nothing yet.
func (i *Inventory) Reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.nodes)
}

// Watch calls changed, which must not block, with the name of each node whose facts change.
func (i *Inventory) Watch(changed func(node string)) (stop func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := i.next
	i.next++
	i.watchers[id] = changed
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.watchers, id)
	}
}

func (i *Inventory) replace(node string, session uint64, now time.Time, change func(*Node)) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.nodes[node]
	if n == nil || n.Session != session {
		return false
	}
	c := *n
	c.Heard = now
	change(&c)
	i.nodes[node] = &c
	return true
}

func (i *Inventory) notify(node string) {
	i.mu.Lock()
	watchers := make([]func(string), 0, len(i.watchers))
	for _, w := range i.watchers {
		watchers = append(watchers, w)
	}
	i.mu.Unlock()
	for _, w := range watchers {
		w(node)
	}
}
