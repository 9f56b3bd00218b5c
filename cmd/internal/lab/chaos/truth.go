package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"rvol/agent/decide"
	"rvol/cmd/internal/lab/sim"
	"rvol/lvm"
)

// truth is what the machines themselves show, whoever leads, and however wrong reports are.
type truth struct {
	r *run

	mu     sync.Mutex
	hashes map[uint64]memory // by index

	orders  map[string]decide.Order // newest seen on each node's disk
	ran     map[string]int          // how many of a node's commands were looked at
	secrets map[string]bool
}

// memory is the state that a coordinator had at an index.
type memory struct{ by, hash string }

// What somebody else keeps on each node.
const (
	theirs     = "theirs"
	theirsSize = 8 << 20 // bytes
	theirText  = "nobody but its owner may touch this"
)

func newTruth(r *run) (*truth, error) {
	t := &truth{r: r, hashes: map[uint64]memory{}, orders: map[string]decide.Order{}, ran: map[string]int{}, secrets: map[string]bool{}}
	for _, n := range r.s.Nodes() {
		if err := n.LVM.AddForeign("vg0", theirs, theirsSize); err != nil {
			return nil, err
		}
		dev, err := n.LVM.Open("/dev/vg0/" + theirs)
		if err != nil {
			return nil, err
		}
		if _, err := dev.WriteAt([]byte(theirText), 4096); err != nil {
			return nil, err
		}
		_ = dev.Close() // memory
	}
	return t, nil
}

// look goes through all machines.
func (t *truth) look() {
	for _, n := range t.r.s.Nodes() {
		t.foreign(n)
		t.revision(n)
		t.commands(n)
		t.files(n)
	}
}

// foreign demands that what is not rvol's is there and as it was: I6.
func (t *truth) foreign(n *sim.Node) {
	ctx, cancel := context.WithTimeout(t.r.ctx, time.Second)
	defer cancel()
	report, err := lvm.New(n.LVM.Run).Report(ctx)
	if err != nil {
		return // a tool hangs or fails: the next step looks again
	}
	if _, ok := report.LV("vg0", theirs); !ok {
		t.r.wrongf("I6: vg0/%s is gone from %s", theirs, n.Name)
		return
	}
	dev, err := n.LVM.Open("/dev/vg0/" + theirs)
	if err != nil {
		return // not active: the node has no power
	}
	defer func() { _ = dev.Close() }() // memory
	got := make([]byte, len(theirText))
	if _, err := dev.ReadAt(got, 4096); err != nil || string(got) != theirText {
		t.r.wrongf("I6: vg0/%s of %s reads %q, %v", theirs, n.Name, got, err)
	}
}

// revision demands that no agent goes back: I9.
func (t *truth) revision(n *sim.Node) {
	b, err := os.ReadFile(filepath.Join(n.State(), "order.json"))
	if err != nil {
		return // it has accepted none yet
	}
	var o struct{ Desired decide.Desired }
	if err := json.Unmarshal(b, &o); err != nil {
		t.r.wrongf("I9: the order of %s cannot be read: %v", n.Name, err)
		return
	}
	if o.Desired.Order.Before(t.orders[n.Name]) {
		t.r.wrongf("I9: %s went back from order %v to %v", n.Name, t.orders[n.Name], o.Desired.Order)
	}
	t.orders[n.Name] = o.Desired.Order
}

// remembers notes what a coordinator had at an index: I8.
func (t *truth) remembers(name string, index uint64, hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m, ok := t.hashes[index]; ok && m.hash != hash {
		t.r.wrongf("I8: at index %d %s and %s remember different states", index, m.by, name)
	}
	t.hashes[index] = memory{name, hash}
}

// commands demands that no data generation is begun on a volume that was formed: I5.
func (t *truth) commands(n *sim.Node) {
	all := n.DRBD.Ran()
	for _, line := range all[t.ran[n.Name]:] {
		words := strings.Fields(line)
		if len(words) < 3 || words[1] != "new-current-uuid" && (words[1] != "primary" || !strings.Contains(line, "--force")) {
			continue
		}
		if v := t.volumeOf(n, words[2:]); v != "" {
			t.r.wrongf("I5: %s ran %q, and volume %s had been formed", n.Name, line, v)
		}
	}
	t.ran[n.Name] = len(all)
}

// volumeOf finds the formed volume that a command was about; "": none.
func (t *truth) volumeOf(n *sim.Node, words []string) string {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for _, v := range t.r.volumes {
		if !v.wasFormed {
			continue
		}
		for _, p := range v.seen.GetReplicas() {
			if p.GetNode() != n.Name {
				continue
			}
			if _, err := os.Stat(filepath.Join(n.Root, "etc/drbd.d/rvol", "rvol-"+v.name+".res")); err != nil {
				continue // it left: its minor may be another's
			}
			for _, w := range words {
				minor, err := strconv.Atoi(w)
				if w == "rvol-"+v.name || err == nil && len(p.GetMinors()) > 0 && int(p.GetMinors()[0]) == minor {
					return v.name
				}
			}
		}
	}
	return ""
}

var secretLine = regexp.MustCompile(`shared-secret\s+"?([^";\s]+)`)

// files demands that only its owner can read a file with a secret in it: I10.
func (t *truth) files(n *sim.Node) {
	dir := filepath.Join(n.Root, "etc/drbd.d/rvol")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is none
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // gone meanwhile
		}
		if m := secretLine.FindSubmatch(b); m != nil {
			t.secrets[string(m[1])] = true
		}
	}
}

// leaks looks for secrets where they do not belong, once all is done: I10.
func (t *truth) leaks() {
	if len(t.secrets) == 0 {
		t.r.wrongf("I10: no secret was found to look for")
	}
	log, err := os.ReadFile(t.r.LogFile)
	if err != nil {
		t.r.wrongf("I10: the log cannot be searched: %v", err)
	}
	places := map[string][]byte{"the log": log}
	for _, n := range t.r.s.Nodes() {
		places["the command lines of "+n.Name] = []byte(strings.Join(n.DRBD.Ran(), "\n") + fmt.Sprint(n.LVM.Commands()))
		t.readable(n, places)
	}
	for secret := range t.secrets {
		for where, text := range places {
			if bytes.Contains(text, []byte(secret)) {
				t.r.wrongf("I10: a secret stands in %s", where)
			}
		}
	}
}

// readable adds the files that others than their owner can read.
func (t *truth) readable(n *sim.Node, places map[string][]byte) {
	err := filepath.WalkDir(n.Root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if st, err := e.Info(); err != nil || st.Mode().Perm()&0o077 == 0 {
			return err
		}
		places["the readable file "+path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.r.wrongf("I10: the files of %s cannot be searched: %v", n.Name, err)
	}
}
