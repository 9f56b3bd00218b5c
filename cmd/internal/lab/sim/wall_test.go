package sim

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent"
	"rvol/proto/identity"
)

// TestTheLeadersClockJumps sets the clock of whoever leads wrong, and right again: all nodes
// stay Ready, work is done, nobody is left with a certificate that is out of its time, what
// happened is told in the order in which it did, and tokens lapse by the newest time that
// anybody had.
func TestTheLeadersClockJumps(t *testing.T) {
	t.Parallel()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "wall.log"))
	synctest.Test(t, func(t *testing.T) {
		cl, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cl.Close() }() // what failed before is what counts
		if err := cl.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := &walled{t, NewScripted(cl)}
		w.rest(48 * time.Hour) // all certificates are older than the jumps back
		for _, node := range []string{"n1", "n2"} {
			must(t, w.Scripted, "lvg create "+node+" vg0")
		}
		must(t, w.Scripted, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
		old := w.token()
		w.jump("back", -24*time.Hour)
		w.jump("forward", 24*time.Hour)
		if _, err := w.join("n8", old); err == nil || !strings.Contains(err.Error(), "lapsed") {
			t.Errorf("with a token that somebody's clock has seen lapse: %v, want it refused", err)
		}
		w.renewed()
		if own, err := w.join("n9", w.token()); err != nil || own.CheckTime(time.Now()) != nil {
			t.Errorf("with a new one: %v, %v", own, err)
		}
		w.ordered()
	})
}

// walled is a cluster whose clocks are set.
type walled struct {
	*testing.T
	*Scripted
}

// rest stops everything, and starts it again after a while.
func (w *walled) rest(d time.Duration) {
	w.Helper()
	var errs []error
	for _, n := range w.Nodes() {
		errs = append(errs, w.StopAgent(n.Name))
		if err := w.StopCoordinator(n.Name); err != nil {
			w.Logf("coordinator of %s: %v", n.Name, err)
		}
	}
	time.Sleep(d)
	for _, n := range w.Nodes() {
		errs = append(errs, w.StartCoordinator(n.Name), w.StartAgent(n.Name))
	}
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
	if err := w.settled(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// leader is the node that leads, once one does.
func (w *walled) leader() *Node {
	w.Helper()
	for range 60 {
		if name, err := w.Leader(w.Context()); err == nil {
			n, err := w.Node(name)
			if err != nil {
				w.Fatal(err)
			}
			return n
		}
		time.Sleep(time.Second)
	}
	w.Fatal("nobody leads")
	return nil
}

// jump sets the leader's clock wrong for a minute, and makes a volume before and afterwards.
func (w *walled) jump(name string, by time.Duration) {
	w.Helper()
	n := w.leader()
	n.SetClock(by)
	must(w.T, w.Scripted, "volume create "+name+"-1 --size 8MiB --class r2 --wait")
	w.ready(time.Minute)
	if now := w.leader(); now != n {
		w.Errorf("%s leads, whose clock is right; %s did", now.Name, n.Name)
	}
	n.SetClock(0)
	must(w.T, w.Scripted, "volume create "+name+"-2 --size 8MiB --class r2 --wait")
	w.ready(time.Minute)
}

// ready demands that all nodes are Ready for so long.
func (w *walled) ready(lasting time.Duration) {
	w.Helper()
	conn, err := w.Dial(w.Context(), w.Endpoints()[0])
	if err != nil {
		w.Fatal(err)
	}
	defer closeConn(conn)
	for range lasting / (5 * time.Second) {
		if why := w.unsettled(w.Context(), conn); why != "" {
			w.Error(why)
		}
		time.Sleep(5 * time.Second)
	}
}

func (w *walled) token() string {
	w.Helper()
	text, err := w.Cluster.token(w.Context(), "node", "")
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// join makes a machine that does nothing more a node. It returns its certificate.
func (w *walled) join(name, token string) (*identity.Credentials, error) {
	dir := filepath.Join(w.Dir, name)
	_, err := agent.Join(w.Context(), agent.JoinConfig{
		State: dir, Token: token, Coordinators: w.Endpoints(), Name: name, Zone: "z1",
		Addresses: map[string]string{agent.DefaultNetwork: "10.77.1.1"}, Simulated: true, Dial: w.Nodes()[2].dial,
	})
	if err != nil {
		return nil, err
	}
	return agent.IdentityDir(dir).Load()
}

// renewed lets the leader be 40 days ahead, which renews its certificate: agents do not take
// it when the clock is right again, until it has the next.
func (w *walled) renewed() {
	w.Helper()
	n := w.leader()
	dir := identity.Dir(filepath.Join(n.coordinatorDir(), "identity"))
	before, err := dir.Load()
	if err != nil {
		w.Fatal(err)
	}
	n.SetClock(40 * 24 * time.Hour)
	time.Sleep(11 * time.Minute)
	ahead, err := dir.Load()
	if err != nil || ahead.CheckTime(time.Now()) == nil || ahead.Certificate().Equal(before.Certificate()) {
		w.Errorf("%s did not renew its certificate by a clock that is 40 days ahead: %v", n.Name, err)
	}
	n.SetClock(0)
	time.Sleep(15 * time.Minute)
	if own, err := dir.Load(); err != nil || own.CheckTime(time.Now()) != nil {
		w.Errorf("%s is left with a certificate out of its time: %v", n.Name, err)
	}
	w.ready(time.Minute)
}

// ordered demands that neither the time nor the index of what happened goes back.
func (w *walled) ordered() {
	w.Helper()
	var all []struct {
		Index, Number int
		Time          time.Time
	}
	if err := json.Unmarshal([]byte(must(w.T, w.Scripted, "event list -o json --since 1")), &all); err != nil {
		w.Fatal(err)
	}
	for i := 1; i < len(all); i++ {
		if all[i].Index < all[i-1].Index || all[i].Time.Before(all[i-1].Time) {
			w.Errorf("after %v comes %v", all[i-1], all[i])
		}
	}
}
