package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/call"
)

// Serve offers a world on l until its Down is called or ctx ends; either way the world is down when it returns, and the run folder is gone
// unless the world never came up: then its logs stay.
func Serve(ctx context.Context, l net.Listener, w lab.World, dir string, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{world: w, dir: dir, log: log, end: cancel}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var calls sync.WaitGroup
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		calls.Go(func() {
			if err := call.Serve(ctx, c, s.handle); err != nil {
				log.DebugContext(ctx, "call broke off", "err", err)
			}
		})
	}
	cancel()
	calls.Wait()
	s.forwards.close()
	return s.down(context.WithoutCancel(ctx))
}

type server struct {
	world    lab.World
	dir      string
	log      *slog.Logger
	end      context.CancelFunc
	forwards forwards

	once   sync.Once
	ended  error
	failed bool // Up failed
}

// down ends the world once, whoever asks.
func (s *server) down(ctx context.Context) error {
	s.once.Do(func() {
		s.ended = s.world.Down(ctx)
		if !s.failed && s.ended == nil {
			s.ended = os.RemoveAll(s.dir)
		}
	})
	return s.ended
}

func (s *server) handle(ctx context.Context, r call.Request, st call.Streams, opened func() error) call.Exit {
	var a args
	if err := json.Unmarshal(r.Args, &a); err != nil {
		return call.Exit{Err: "read the arguments of " + r.Op + ": " + err.Error()}
	}
	s.log.DebugContext(ctx, "call", "operation", r.Op, "node", a.Node, "argv", a.Argv)
	code, result, err := s.serve(ctx, r.Op, a, st, opened)
	x := call.Exit{Code: code}
	if err == nil && result != nil {
		x.Result, err = json.Marshal(result)
	}
	if err != nil {
		x.Err = err.Error()
	}
	return x
}

func (s *server) serve(ctx context.Context, op string, a args, st call.Streams, opened func() error) (code int, result any, err error) {
	w := s.world
	switch op {
	case opUp:
		err = s.up(ctx, st)
	case opExec:
		code, err = w.Exec(ctx, a.Node, lab.Command{Argv: a.Argv, Env: a.Env, Stdin: st.Stdin, Stdout: st.Stdout, Stderr: st.Stderr})
	case opLogs:
		err = w.Logs(ctx, a.Node, st.Stdout)
	case opStatus:
		result, err = s.status(ctx)
	case opDial:
		err = s.dial(ctx, a, st, opened)
	case opForward:
		result, err = s.forwards.open(w, a.Node, a.Port)
	case opDown:
		err = s.down(context.WithoutCancel(ctx))
		s.end()
	default:
		err = s.change(ctx, op, a)
	}
	return code, result, err
}

// change serves the operations that change something and return nothing.
func (s *server) change(ctx context.Context, op string, a args) error {
	switch op {
	case opKill:
		return s.world.Kill(ctx, a.Node)
	case opStart:
		return s.world.Start(ctx, a.Node)
	case opStop:
		return s.world.Stop(ctx, a.Node)
	case opDisturb:
		return s.world.Disturb(ctx, a.Fault)
	case opHeal:
		return s.world.Heal(ctx)
	case opPush:
		return s.world.Push(ctx, a.Node, a.Src, a.Dst)
	}
	return fmt.Errorf("operation %q: unknown to the lab that runs", op)
}

// up brings the world up. One that does not come up is taken down again.
func (s *server) up(ctx context.Context, st call.Streams) error {
	err := s.world.Up(ctx, st.Stderr)
	if err != nil {
		s.failed = true
		err = errors.Join(err, s.down(context.WithoutCancel(ctx)))
		s.end()
	}
	return err
}

func (s *server) status(ctx context.Context) (lab.Status, error) {
	st, err := s.world.Status(ctx)
	st.Forwards = append(st.Forwards, s.forwards.list()...)
	return st, err
}

func (s *server) dial(ctx context.Context, a args, st call.Streams, opened func() error) error {
	c, err := s.world.Dial(ctx, a.Node, a.Port)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := opened(); err != nil {
		c.Close()
		return err
	}
	return call.Join(c, st)
}
