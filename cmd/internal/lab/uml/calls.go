package uml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/hashicorp/yamux"

	"rvol/cmd/internal/lab/call"
	"rvol/cmd/internal/lab/uml/nodeagent"
)

// Exec runs a command on the node, as soon as its agent answers, and returns its exit code.
func (n *Node) Exec(ctx context.Context, x nodeagent.Exec, s call.Streams) (int, error) {
	c, r, err := n.open(ctx, nodeagent.OpExec, x)
	if err != nil {
		return 0, err
	}
	exit, err := call.Do(ctx, c, r, s)
	if err == nil && exit.Err != "" {
		err = errors.New(exit.Err)
	}
	if err != nil {
		return exit.Code, fmt.Errorf("run %s on %s: %w", x.Argv[0], n.name, n.cause(err))
	}
	return exit.Code, nil
}

// Dial connects to an address as seen from inside the node.
func (n *Node) Dial(ctx context.Context, address string) (net.Conn, error) {
	c, r, err := n.open(ctx, nodeagent.OpDial, nodeagent.Dial{Address: address})
	if err != nil {
		return nil, err
	}
	conn, err := call.Dial(ctx, c, r)
	if err != nil {
		return nil, fmt.Errorf("connect to %s on %s: %w", address, n.name, n.cause(err))
	}
	return conn, nil
}

func (n *Node) open(ctx context.Context, op string, args any) (net.Conn, call.Request, error) {
	b, err := json.Marshal(args)
	if err != nil {
		return nil, call.Request{}, err
	}
	mux, err := n.agent(ctx)
	if err != nil {
		return nil, call.Request{}, err
	}
	c, err := openStream(ctx, mux)
	if err != nil {
		return nil, call.Request{}, fmt.Errorf("call the agent on %s: %w", n.name, n.cause(err))
	}
	return c, call.Request{Op: op, Args: b}, nil
}

// openStream gives up with ctx: a node that stands still takes no more calls when the line to it is full.
func openStream(ctx context.Context, mux *yamux.Session) (net.Conn, error) {
	type opened struct {
		c   net.Conn
		err error
	}
	result := make(chan opened, 1)
	go func() {
		c, err := mux.OpenStream()
		result <- opened{c, err}
	}()
	select {
	case o := <-result:
		return o.c, o.err
	case <-ctx.Done():
		go func() { // the session's write timeout ends it
			if o := <-result; o.err == nil {
				o.c.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// cause says that the node went off, when that is why a call broke.
func (n *Node) cause(err error) error {
	select {
	case <-n.done:
		return fmt.Errorf("%w (%w)", ErrOff, err)
	default:
		return err
	}
}
