package uml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hashicorp/yamux"

	"rvol/cmd/internal/lab/uml/line"
	"rvol/cmd/internal/lab/uml/nodeagent"
)

// ErrOff is what calls to a node say whose kernel has ended.
var ErrOff = errors.New("the node is off")

// A Node is one running kernel.
type Node struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the kernel has ended and nothing of the node runs any more
	err  error         // how it ended; read after done

	mu      sync.Mutex
	mux     *yamux.Session // with the agent; nil: it has not said hello yet
	changed chan struct{}  // closed and replaced when mux changes
}

// Boot starts a node's kernel. It returns at once; calls to the node wait for its agent.
func Boot(c Config) (*Node, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("boot %s: %w", c.Name, err)
	}
	console, err := os.OpenFile(ConsoleFile(c.Dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("boot %s: %w", c.Name, err)
	}
	defer console.Close()
	mine, theirs, err := socketpair()
	if err != nil {
		return nil, fmt.Errorf("boot %s: %w", c.Name, err)
	}
	defer theirs.Close()
	cmd := exec.CommandContext(context.Background(), c.Kernel, c.args()...) // a node outlives the request that started it
	cmd.Env = environment(os.Environ())
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = console, console
	cmd.ExtraFiles = []*os.File{theirs}
	// the kernel ends with this process, however that ends; its own processes end with it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		mine.Close()
		return nil, fmt.Errorf("boot %s: %w", c.Name, err)
	}
	n := &Node{name: c.Name, cmd: cmd, done: make(chan struct{}), changed: make(chan struct{})}
	go n.run(mine)
	return n, nil
}

// ConsoleFile is where a node's console is kept, over all its boots.
func ConsoleFile(dir string) string { return filepath.Join(dir, "console.log") }

func socketpair() (mine, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the serial line: %w", err)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, nil, fmt.Errorf("make the serial line: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "serial line"), os.NewFile(uintptr(fds[1]), "serial line"), nil
}

// run owns everything of a running node and ends with its kernel.
func (n *Node) run(serial *os.File) {
	var sessions sync.WaitGroup
	sessions.Go(func() { n.sessions(line.NewHost(serial)) })
	err := n.cmd.Wait()
	// the kernel's own processes may live a moment longer
	_ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL) // there may be none
	serial.Close()
	sessions.Wait()
	n.err = err
	close(n.done)
}

// sessions takes the agent's sessions, one after the other, until the line is closed.
func (n *Node) sessions(h *line.Host) {
	for {
		s, err := h.Accept()
		if err != nil {
			return
		}
		mux, err := yamux.Client(s, nodeagent.MuxConfig())
		if err != nil {
			return
		}
		n.set(mux)
		<-mux.CloseChan()
		n.set(nil)
		mux.Close() // waits for the session's reader
	}
}

func (n *Node) set(mux *yamux.Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mux = mux
	close(n.changed)
	n.changed = make(chan struct{})
}

// agent waits for a session with the node's agent.
func (n *Node) agent(ctx context.Context) (*yamux.Session, error) {
	for {
		n.mu.Lock()
		mux, changed := n.mux, n.changed
		n.mu.Unlock()
		if mux != nil {
			return mux, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the agent on %s: %w", n.name, context.Cause(ctx))
		case <-n.done:
			return nil, fmt.Errorf("%s: %w", n.name, ErrOff)
		case <-changed:
		}
	}
}

// Name is the node's name.
func (n *Node) Name() string { return n.name }

// PID is the process id of the kernel.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Done is closed when the kernel has ended.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err tells how the kernel ended, after Done; nil: it was shut down.
func (n *Node) Err() error { return n.err }

// Kill takes the node's power and waits until nothing of it is left.
func (n *Node) Kill() {
	_ = n.cmd.Process.Kill() // it may have ended by itself
	<-n.done
}
