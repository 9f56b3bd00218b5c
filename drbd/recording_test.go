package drbd_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
)

var update = flag.Bool("update", false, "write golden files anew")

// A recording is one command of the real tools. Those of DRBD 9 hold both
// outputs in one.
type recording struct {
	command string
	stdout  []byte
	stderr  []byte
	exit    int
}

var exitRE = regexp.MustCompile(`(?m)^exit[ =](\d+)\n\z`)

// record reads testdata/VERSION/NAME*.
func record(tb testing.TB, pattern string) recording {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern+"*"))
	if err != nil || len(names) != 1 {
		tb.Fatalf("recording %s: %d files, %v", pattern, len(names), err)
	}
	return readRecording(tb, names[0])
}

func readRecording(tb testing.TB, name string) recording {
	tb.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	m := exitRE.FindSubmatchIndex(text)
	if m == nil {
		tb.Fatalf("%s: no exit code", name)
	}
	var r recording
	if r.exit, err = strconv.Atoi(string(text[m[2]:m[3]])); err != nil {
		tb.Fatal(err)
	}
	command, body, _ := bytes.Cut(text[:m[0]], []byte("\n"))
	r.command = strings.TrimPrefix(string(command), "$ ")
	var split bool
	r.stdout, r.stderr, split = bytes.Cut(body, []byte("--- stderr:\n"))
	if !split {
		r.stderr = body
	}
	return r
}

// refused is what a Runner makes of a tool's refusal.
type refused struct{ recording }

func (r refused) Error() string  { return fmt.Sprintf("exit status %d", r.exit) }
func (r refused) ExitCode() int  { return r.exit }
func (r refused) Stderr() []byte { return r.stderr }

// answers is a Runner that has one answer, and notes what was asked.
func answers(r recording, ran *[]string) drbd.Runner {
	return func(_ context.Context, argv ...string) ([]byte, error) {
		*ran = append(*ran, strings.Join(argv, " "))
		if r.exit != 0 {
			return r.stdout, refused{r}
		}
		return r.stdout, nil
	}
}

// golden compares with testdata/NAME, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// show is a resource on a few lines.
func show(r drbd.Resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s node %d %s suspended %+v failing %t\n", r.Name, r.NodeID, r.Role, r.Suspended, r.ForceIOFailures)
	for _, d := range r.Devices {
		fmt.Fprintf(&b, "  volume %d minor %d %s %d bytes quorum %t client %t open %q\n",
			d.Volume, d.Minor, d.Disk, d.Size, d.Quorum, d.Client, d.Open)
	}
	for _, p := range r.Peers {
		fmt.Fprintf(&b, "  peer %d %s %s %s\n", p.NodeID, p.Name, p.Conn, p.Role)
		for _, d := range p.Devices {
			fmt.Fprintf(&b, "    volume %d %s %s out of sync %d done %.2f client %t resync suspended %s\n",
				d.Volume, d.Repl, d.Disk, d.OutOfSync, d.Done, d.Client, d.ResyncSuspended)
		}
	}
	return b.String()
}

// brief is a resource on one line, without counts.
func brief(r drbd.Resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Name, r.Role)
	if r.Suspended.Any() {
		b.WriteString(" suspended")
	}
	for _, d := range r.Devices {
		fmt.Fprintf(&b, " %s %dMiB", d.Disk, d.Size>>20)
		if !d.Quorum {
			b.WriteString(" no quorum")
		}
	}
	for _, p := range r.Peers {
		fmt.Fprintf(&b, " | %s %s %s", p.Name, p.Conn, p.Role)
		for _, d := range p.Devices {
			fmt.Fprintf(&b, " %s %s", d.Repl, d.Disk)
		}
	}
	return b.String()
}

// readStream reads a recorded stream, which has no command and no exit code
// and may end in the middle of a line.
func readStream(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return text[:bytes.LastIndexByte(text, '\n')+1]
}
