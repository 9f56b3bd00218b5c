package remote

import (
	"context"
	"fmt"
	"net"
	"sync"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/call"
)

// forwards are the ports of this machine that lead into nodes. The zero value has none.
type forwards struct {
	mu        sync.Mutex
	byTarget  map[target]lab.Forward
	listeners []net.Listener
	running   sync.WaitGroup
	closed    bool
}

type target struct {
	node string
	port int
}

// open returns the forward that leads to a node's port, a new one if there is none.
func (f *forwards) open(w lab.World, node string, port int) (lab.Forward, error) {
	if port < 1 || port > 65535 {
		return lab.Forward{}, fmt.Errorf("forward port %d: not from 1 to 65535", port)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := target{node, port}
	if fw, ok := f.byTarget[t]; ok || f.closed {
		return fw, nil
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") // it does not wait
	if err != nil {
		return lab.Forward{}, fmt.Errorf("forward to port %d of %s: %w", port, node, err)
	}
	fw := lab.Forward{Listen: l.Addr().String(), Node: node, Port: port}
	if f.byTarget == nil {
		f.byTarget = map[target]lab.Forward{}
	}
	f.byTarget[t] = fw
	f.listeners = append(f.listeners, l)
	f.running.Go(func() { f.accept(w, l, fw) })
	return fw, nil
}

func (f *forwards) accept(w lab.World, l net.Listener, fw lab.Forward) {
	ctx, cancel := context.WithCancel(context.Background())
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		conns.Go(func() {
			defer c.Close()
			far, err := w.Dial(ctx, fw.Node, fw.Port)
			if err != nil {
				return // the caller sees its connection closed, as by a host without that port
			}
			defer context.AfterFunc(ctx, func() { c.Close(); far.Close() })()
			_ = call.Join(far, call.Streams{Stdin: c, Stdout: c})
		})
	}
}

func (f *forwards) list() []lab.Forward {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []lab.Forward
	for _, fw := range f.byTarget {
		all = append(all, fw)
	}
	return all
}

func (f *forwards) close() {
	f.mu.Lock()
	f.closed = true
	for _, l := range f.listeners {
		l.Close()
	}
	f.mu.Unlock()
	f.running.Wait()
}
