//go:build kernellab

package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/deploy/deploytest"
)

// roundsOf is how often power is lost: once, or as often as `make soak` says.
func roundsOf(t *testing.T) int {
	t.Helper()
	text := os.Getenv("RVOL_SOAK_ROUNDS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("RVOL_SOAK_ROUNDS is %q: want a number from 1", text)
	}
	return n
}

// TestNoAcknowledgedWriteIsLostWithThePowerOfTheNode takes the power of the node that writes, at any moment, and looks on the other
// one whether all is there that was acknowledged before; the two take turns.
func TestNoAcknowledgedWriteIsLostWithThePowerOfTheNode(t *testing.T) {
	t.Parallel()
	rounds := roundsOf(t)
	f := &failover{T: t, Cluster: deploytest.Up(t, bin, 3), volume: "db-1", last: -1}
	f.rvol("lvg create n1 vg1 --thin-pool tp --wait")
	f.rvol("lvg create n2 vg1 --thin-pool tp --wait")
	f.rvol("class create r2 --ftt 1 --gmdr 0 --type LVMThin --vg vg1 --thin-pool tp --drbd resync-rate=100M")
	f.rvol("volume create db-1 --size 64MiB --class r2 --wait")
	user, other := "n1", "n2"
	f.rvol("volume attach db-1 " + user + " --wait")
	for round := range rounds {
		f.loses(user, other, round)
		user, other = other, user
	}
	f.rvol("volume detach db-1 " + user + " --wait")
	f.rvol("volume delete db-1 --yes --wait")
}

type failover struct {
	*testing.T
	*deploy.Cluster

	volume string // that is written
	last   int64  // the newest block that was acknowledged; -1: none
}

// loses takes the power of the node that uses the volume while it writes, and lets the other one take over and write on.
func (f *failover) loses(user, other string, round int) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	before := f.last
	w := f.write(ctx, user)
	w.reaches(f.T, before+20)
	time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) // any moment is as good
	if err := f.World.Kill(f.Context(), user); err != nil {
		f.Fatal(err)
	}
	lost := time.Now()
	cancel()
	f.last = w.end()
	f.rvol("node fence " + user + " --yes-i-mean " + user)
	f.rvol("volume attach db-1 " + other + " --wait")
	took := time.Since(lost)
	f.check(other)
	f.Logf("round %d: %s lost its power after %d acknowledged blocks; all are on %s, %.1f s later", round+1, user, f.last-before, other, took.Seconds())

	ctx, cancel = context.WithCancel(f.Context())
	defer cancel()
	w = f.write(ctx, other)
	if err := f.World.Start(f.Context(), user); err != nil {
		f.Fatal(err)
	}
	f.eventually(`db-1 +ready`, "volume list")
	w.reaches(f.T, f.last+20)
	cancel()
	f.last = w.end()
	f.stopWriting(other)
	f.check(other)
}

// unavailable is how rvol says that no coordinator leads: the one that did has just lost its power.
const unavailable = 7

func (f *failover) rvol(line string) string {
	f.Helper()
	for begun := time.Now(); ; {
		out, code := f.run(line)
		switch {
		case code == 0:
			return out
		case code != unavailable || time.Since(begun) > time.Minute:
			f.Fatalf("rvol %s: exit status %d\n%s", line, code, out)
		}
	}
}

// run runs a command of rvol, and returns all that it prints.
func (f *failover) run(line string) (out string, code int) {
	f.Helper()
	var text bytes.Buffer
	code, err := f.Client.Run(f.Context(), deploy.Output{Stdout: &text, Stderr: &text}, strings.Fields(line)...)
	if err != nil {
		f.Fatalf("rvol %s: %v", line, err)
	}
	return text.String(), code
}

func (f *failover) eventually(text, line string) {
	f.Helper()
	want := regexp.MustCompile(text)
	var out string
	for range 600 {
		if out = f.rvol(line); want.MatchString(out) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	f.Fatalf("rvol %s: still not %q:\n%s", line, text, out)
}

// check looks on a node for all that was acknowledged.
func (f *failover) check(node string) {
	f.Helper()
	if _, err := f.On(f.Context(), node, fmt.Sprintf("/opt/lab/rvol-lab blocks check /dev/rvol/%s --number %d", f.volume, f.last)); err != nil {
		f.Fatal(err)
	}
}

// writer collects what a node acknowledges.
type writer struct {
	mu   sync.Mutex
	text []byte
	last int64
	err  error
	done chan struct{}
}

// write starts to write on a node.
func (f *failover) write(ctx context.Context, node string) *writer {
	w := &writer{last: f.last, done: make(chan struct{})}
	argv := []string{"/opt/lab/rvol-lab", "blocks", "write", "/dev/rvol/" + f.volume, "--number", strconv.FormatInt(f.last+1, 10)}
	go func() {
		defer close(w.done)
		var errs bytes.Buffer
		code, err := f.World.Exec(ctx, node, lab.Command{Argv: argv, Stdout: w, Stderr: &errs})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = fmt.Errorf("exit status %d, %w, %s", code, err, errs.String())
	}()
	return w
}

// stopWriting ends who still writes on a node: only the line to it was closed.
func (f *failover) stopWriting(node string) {
	f.Helper()
	line := `for i in $(seq 100); do p=$(pidof rvol-lab | tr ' ' '\n' | while read p; do ! grep -q blocks /proc/$p/cmdline || echo $p; done)
		[ -n "$p" ] || exit 0; kill $p; sleep 0.1; done; exit 1`
	if _, err := f.On(f.Context(), node, line); err != nil {
		f.Fatal(err)
	}
}

// Write takes the numbers of blocks, a line each.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	for {
		line, rest, whole := bytes.Cut(w.text, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		n, err := strconv.ParseInt(string(line), 10, 64)
		if err != nil {
			return 0, err
		}
		w.last, w.text = n, rest
	}
}

func (w *writer) reached() (last int64, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.err
}

func (w *writer) reaches(t *testing.T, n int64) {
	t.Helper()
	for range 600 {
		last, why := w.reached()
		if last >= n {
			return
		}
		if why != nil {
			t.Fatalf("writing ended at block %d, want %d: %v", last, n, why)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("writing does not reach block %d", n)
}

// end waits until nothing comes from the node any more.
func (w *writer) end() int64 {
	<-w.done
	last, _ := w.reached()
	return last
}
