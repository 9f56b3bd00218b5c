package lvm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A recording is one run of a real tool.
type recording struct {
	command string
	stdout  string
	stderr  string
	code    int
}

// versions of LVM that were recorded.
var versions = []string{"2.03.16", "2.03.31"}

// readRecording reads one of the oldest version.
func readRecording(tb testing.TB, name string) recording {
	tb.Helper()
	return readVersion(tb, versions[0], name)
}

func readVersion(tb testing.TB, version, name string) recording {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", version, name+".txt"))
	if err != nil {
		tb.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	body, last, ok := cutLast(strings.TrimRight(rest, "\n"), "exit ")
	if !ok {
		tb.Fatalf("%s has no exit status", name)
	}
	r := recording{command: strings.TrimPrefix(first, "$ ")}
	if r.code, err = strconv.Atoi(last); err != nil {
		tb.Fatal(err)
	}
	r.stdout, r.stderr, _ = strings.Cut(body, "--- stderr:\n")
	return r
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// run replays the recording, whatever is asked.
func (r recording) run(context.Context, ...string) ([]byte, error) {
	if r.code != 0 {
		return []byte(r.stdout), replayed{r}
	}
	return []byte(r.stdout), nil
}

type replayed struct{ recording }

func (e replayed) Error() string  { return "exit status " + strconv.Itoa(e.code) }
func (e replayed) ExitCode() int  { return e.code }
func (e replayed) Stderr() []byte { return []byte(e.stderr) }

var errNoRun = errors.New("nothing is run here")

// notebook is a Runner that writes down what it is asked.
type notebook struct{ argv []string }

func (n *notebook) run(_ context.Context, argv ...string) ([]byte, error) {
	n.argv = argv
	return nil, errNoRun
}
