package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/call"
)

// Client is a world that another process serves. It implements lab.World.
type Client struct {
	dir string
}

// Connect returns the world of a run folder. It does not look whether that world runs.
func Connect(dir string) *Client { return &Client{dir: dir} }

// Runs says whether a world answers.
func (c *Client) Runs(ctx context.Context) bool {
	conn, err := c.dial(ctx)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", SocketFile(c.dir))
	if err != nil {
		return nil, fmt.Errorf("reach the lab in %s: %w: rvol-lab up starts one", c.dir, err)
	}
	return conn, nil
}

func (c *Client) do(ctx context.Context, op string, a args, s call.Streams) (call.Exit, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return call.Exit{}, err
	}
	b, err := json.Marshal(a)
	if err != nil {
		conn.Close()
		return call.Exit{}, err
	}
	x, err := call.Do(ctx, conn, call.Request{Op: op, Args: b}, s)
	if err == nil && x.Err != "" {
		err = errors.New(x.Err)
	}
	return x, err
}

func (c *Client) change(ctx context.Context, op string, a args) error {
	_, err := c.do(ctx, op, a, call.Streams{})
	return err
}

// Up implements lab.World.
func (c *Client) Up(ctx context.Context, progress io.Writer) error {
	_, err := c.do(ctx, opUp, args{}, call.Streams{Stderr: progress})
	return err
}

// Exec implements lab.World.
func (c *Client) Exec(ctx context.Context, node string, cmd lab.Command) (int, error) {
	x, err := c.do(ctx, opExec, args{Node: node, Argv: cmd.Argv, Env: cmd.Env},
		call.Streams{Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr})
	return x.Code, err
}

// Kill implements lab.World.
func (c *Client) Kill(ctx context.Context, node string) error {
	return c.change(ctx, opKill, args{Node: node})
}

// Start implements lab.World.
func (c *Client) Start(ctx context.Context, node string) error {
	return c.change(ctx, opStart, args{Node: node})
}

// Stop implements lab.World.
func (c *Client) Stop(ctx context.Context, node string) error {
	return c.change(ctx, opStop, args{Node: node})
}

// Disturb implements lab.World.
func (c *Client) Disturb(ctx context.Context, f lab.Fault) error {
	return c.change(ctx, opDisturb, args{Fault: f})
}

// Heal implements lab.World.
func (c *Client) Heal(ctx context.Context) error { return c.change(ctx, opHeal, args{}) }

// Logs implements lab.World.
func (c *Client) Logs(ctx context.Context, node string, w io.Writer) error {
	_, err := c.do(ctx, opLogs, args{Node: node}, call.Streams{Stdout: w})
	return err
}

// Status implements lab.World.
func (c *Client) Status(ctx context.Context) (lab.Status, error) {
	x, err := c.do(ctx, opStatus, args{}, call.Streams{})
	if err != nil {
		return lab.Status{}, err
	}
	var s lab.Status
	return s, json.Unmarshal(x.Result, &s)
}

// Dial implements lab.World.
func (c *Client) Dial(ctx context.Context, node string, port int) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(args{Node: node, Port: port})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return call.Dial(ctx, conn, call.Request{Op: opDial, Args: b})
}

// Forward opens a port of this machine that leads to a port of a node, for as long as the world runs.
func (c *Client) Forward(ctx context.Context, node string, port int) (lab.Forward, error) {
	x, err := c.do(ctx, opForward, args{Node: node, Port: port}, call.Streams{})
	if err != nil {
		return lab.Forward{}, err
	}
	var f lab.Forward
	return f, json.Unmarshal(x.Result, &f)
}

// Push implements lab.World.
func (c *Client) Push(ctx context.Context, node, src, dst string) error {
	src, err := filepath.Abs(src)
	if err != nil {
		return err
	}
	return c.change(ctx, opPush, args{Node: node, Src: src, Dst: dst})
}

// Down implements lab.World; the process that serves it ends.
func (c *Client) Down(ctx context.Context) error { return c.change(ctx, opDown, args{}) }
