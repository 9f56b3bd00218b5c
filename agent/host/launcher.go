package host

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// A Command is a tool and its arguments.
type Command struct {
	Path string   // absolute
	Argv []string // Argv[0] is the tool's name
}

// A Launcher starts tools: as children of the agent, or so that they outlive it.
type Launcher interface {
	// Launch starts c. The context covers the start, not the run.
	Launch(ctx context.Context, c Command) (Process, error)
	// Left finds what an earlier life of the agent started and still runs.
	Left(ctx context.Context) ([]Process, error)
}

// A Process is a tool that was started.
type Process interface {
	Argv() []string
	Pid() int
	Unit() string
	Started() time.Time
	Kill()                 // ends its whole process group
	Done() <-chan struct{} // closed once it has ended
	Result() Result        // after Done only
}

// A Result is how a tool ended.
type Result struct {
	Stdout []byte
	Stderr []byte
	Code   int    // exit status; -1 when a signal ended it
	Signal string // the signal's name
	Err    error  // it could not be waited for, or wrote too much
}

// maxOutput caps each output of a tool, in bytes.
const maxOutput = 16 << 20

// environment is all that a tool gets to see of ours.
func environment() []string {
	return []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
}

func (r Result) error(argv []string) error {
	switch {
	case r.Err != nil:
		return &runError{tool: argv[0], err: r.Err}
	case r.Code != 0:
		return &ExitError{argv: argv, code: r.Code, signal: r.Signal, stderr: r.Stderr}
	}
	return nil
}

type runError struct {
	tool string
	err  error
}

func (e *runError) Error() string { return e.tool + ": " + e.err.Error() }
func (e *runError) Unwrap() error { return e.err }

// find resolves the name of a tool to an absolute path.
func (h *Host) find(tool string) (string, error) {
	for _, dir := range h.search {
		path := filepath.Join(dir, filepath.Base(tool))
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &MissingToolError{Tool: tool, Package: debianPackage(tool)}
}

// Find tells where a tool is, or which package brings it.
func (h *Host) Find(tool string) (string, error) { return h.find(tool) }
