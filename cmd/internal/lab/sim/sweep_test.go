package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crasher ends an agent at the n-th point it passes, once.
type crasher struct {
	mu      sync.Mutex
	node    string
	left    int    // points still to pass; 0: none is wanted
	crashed string // where it happened
}

var errCrash = errors.New("the agent is killed here")

func (c *crasher) hook(node, point string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node != c.node || c.left == 0 {
		return nil
	}
	if c.left--; c.left > 0 {
		return nil
	}
	c.crashed = point
	return errCrash
}

// at arms the crash; it returns what to call to learn where it happened.
func (c *crasher) at(node string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node, c.left, c.crashed = node, n, ""
}

func (c *crasher) where() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crashed
}

// most is more points than any formation or deletion passes.
const most = 200

// TestTheAgentMayDieBetweenAnyTwoSteps kills the agent of the node that runs
// new-current-uuid, and that of its peer, at every point of a formation and of a deletion.
// Each time it is started again, the work ends well, and the one command that makes the
// first data generation ran once.
func TestTheAgentMayDieBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	for _, node := range []string{"n1", "n2"} {
		for _, work := range []string{"formation", "deletion"} {
			t.Run(work+" on "+node, func(t *testing.T) {
				t.Parallel()
				dir, err := tempRoot()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = os.RemoveAll(dir) }() // memory of this test
				log := logTo(t, filepath.Join(t.ArtifactDir(), "sweep.log"))
				synctest.Test(t, func(t *testing.T) {
					c := &crasher{}
					cl, err := New(Config{Dir: dir, Nodes: 2, Coordinators: 1, Version: "test", Log: log, Hook: c.hook})
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = cl.Close() }() // what failed before is what counts
					sweep(t, NewScripted(cl), c, node, work)
				})
			})
		}
	}
}

func sweep(t *testing.T, s *Scripted, c *crasher, node, work string) {
	t.Helper()
	generations := 0
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	if err := s.Cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	must(t, s, "lvg create n1 vg0")
	must(t, s, "lvg create n2 vg0")
	must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
	for n := 1; n <= most; n++ {
		vol := fmt.Sprintf("v%d", n)
		if work == "formation" {
			c.at(node, n)
		}
		must(t, s, "volume create "+vol+" --size 8MiB --class r2")
		if work == "deletion" {
			waitFormed(t, s, vol)
			c.at(node, n)
			must(t, s, "volume delete "+vol+" --yes")
		}
		again(t, s, c, node)
		if work == "formation" {
			waitFormed(t, s, vol)
		}
		generations = onlyOnce(t, s, vol, generations)
		if work == "formation" {
			must(t, s, "volume delete "+vol+" --yes")
		}
		waitGone(t, s, vol)
		if c.where() == "" {
			if n < 5 {
				t.Fatalf("only %d points were passed", n)
			}
			t.Logf("%d points", n-1)
			return
		}
	}
	t.Fatalf("more than %d points", most)
}

// again starts the agent that the crash ended, if one happens within a while.
func again(t *testing.T, s *Scripted, c *crasher, node string) {
	t.Helper()
	n, err := s.Node(node)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if c.where() != "" {
			n.stopAgent() // it has ended, or is about to
			if err := n.startAgent(); err != nil {
				t.Fatal(err)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.at("", 0)
}

// must runs a command.
func must(t *testing.T, s *Scripted, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	code := s.Rvol(ctx, &out, &errs, strings.Fields(line))
	if code != 0 {
		t.Fatalf("rvol %s: exit status %d\n%s%s", line, code, out.String(), errs.String())
	}
	return out.String()
}

func waitFormed(t *testing.T, s *Scripted, vol string) {
	t.Helper()
	for range 3000 {
		if strings.Contains(must(t, s, "volume show "+vol+" -o json"), `"formed": true`) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%s is not formed:\n%s", vol, must(t, s, "volume show "+vol))
}

// waitGone waits until nothing of a volume is left anywhere.
func waitGone(t *testing.T, s *Scripted, vol string) {
	t.Helper()
	left := ""
	for range 3000 {
		left = must(t, s, "volume list -o name")
		for _, n := range s.Nodes() {
			holds, err := s.Holds(t.Context(), n.Name)
			if err != nil {
				t.Fatal(err)
			}
			left += holds
		}
		if !strings.Contains(left, vol) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%s is still there:\n%s", vol, left)
}

// onlyOnce checks that the first data generation of the volume was made once, after so
// many of other volumes, and returns how many that makes.
func onlyOnce(t *testing.T, s *Scripted, vol string, before int) int {
	t.Helper()
	runs := 0
	for _, n := range s.Nodes() {
		for _, line := range n.DRBD.Ran() {
			if strings.Contains(line, "new-current-uuid") {
				runs++
			}
		}
	}
	if runs != before+1 {
		t.Fatalf("%s: new-current-uuid ran %d times, want once", vol, runs-before)
	}
	return runs
}
