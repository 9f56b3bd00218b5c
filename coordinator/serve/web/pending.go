package web

import (
	"strings"
	"sync"

	"google.golang.org/grpc"

	adminv1 "rvol/proto/admin/v1"
)

// want is what has to be read again.
type want struct {
	all, cluster, lvgs, committed bool
	nodes, volumes                map[string]bool
}

// pending gathers what changed until somebody has time for it. Many changes of one thing are one.
type pending struct {
	wake     chan struct{}
	listener sync.WaitGroup

	mu  sync.Mutex
	now want
	err error
}

func newPending() *pending {
	return &pending{wake: make(chan struct{}, 1), now: want{nodes: map[string]bool{}, volumes: map[string]bool{}}}
}

// listen notes what a stream tells, until it breaks.
func (p *pending) listen(stream grpc.ServerStreamingClient[adminv1.Change]) {
	for {
		c, err := stream.Recv()
		p.change(func() {
			if err != nil {
				p.err = err
				return
			}
			p.now.add(c)
		})
		if err != nil {
			return
		}
	}
}

func (p *pending) change(how func()) {
	p.mu.Lock()
	how()
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // it has not been looked at yet
	}
}

// all asks for everything.
func (p *pending) all() { p.change(func() { p.now.all = true }) }

func (p *pending) take() want {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.now
	p.now = want{nodes: map[string]bool{}, volumes: map[string]bool{}}
	return w
}

// failed says why nothing more is told.
func (p *pending) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// add notes a change, as what it is shown in.
func (w *want) add(c *adminv1.Change) {
	w.committed = w.committed || c.GetIndex() > 0
	first, _, _ := strings.Cut(c.GetName(), "/")
	switch c.GetKind() {
	case "":
		w.all = true
	case "cluster", "member":
		w.cluster = true
	case "node", "node.status":
		w.nodes[first] = true
	case "lvg", "capacity", "reservation":
		w.lvgs = true
	case "volume", "volume.status", "replica", "attachment":
		w.volumes[first] = true
	case "class":
		w.all = true // the layout of volumes follows it
	}
}
