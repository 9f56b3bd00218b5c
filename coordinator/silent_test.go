package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
	"rvol/proto/probe"
)

// silentWorld is what askSilent sees of a member that leads.
type silentWorld struct {
	*member
	net   *network
	mu    sync.Mutex
	asked []string
}

// Propose applies a transaction at once, one after the other: several doors answer at a time.
func (w *silentWorld) Propose(_ context.Context, t state.Txn) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return statetest.Apply(w.store, time.Now(), t)
}

func (w *silentWorld) dial(ctx context.Context, addr string) (net.Conn, error) {
	w.mu.Lock()
	w.asked = append(w.asked, addr)
	w.mu.Unlock()
	switch addr {
	case "10.0.0.4:7175":
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case "10.0.0.5:7175": // it takes the connection, and says nothing
		near, _ := net.Pipe()
		return near, nil
	case "10.0.0.6:7175":
		return nil, errors.New("no route to host")
	}
	return w.net.dial(ctx, addr)
}

// answers opens a node's door with a handler.
func (w *silentWorld) answers(t *testing.T, addr string, h http.Handler) {
	t.Helper()
	s, done := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}, make(chan struct{})
	l := w.net.listen(addr)
	go func() {
		defer close(done)
		_ = s.Serve(l) // it ends by Close
	}()
	t.Cleanup(func() {
		_ = s.Close() // the test is over
		<-done
	})
}

// silent makes a node that monitoring found silent now.
func silent(name, health string) *model.NodeStatus {
	st := &model.NodeStatus{Reason: "nothing heard for 15s", UpdatedBy: "monitor", UpdatedAt: time.Now(), NotReadySince: time.Now()}
	st.Name = name
	if health != "" {
		st.Health = netip.MustParseAddrPort(health)
	}
	return st
}

func TestASilentNodeIsAskedAtItsDoorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewStore(state.Options{})
		w := &silentWorld{net: newNetwork()}
		w.member = &member{Config: Config{Dial: w.dial, Log: slog.New(slog.DiscardHandler)}, place: place{Name: "c1"}, store: store, proposer: w}
		quiet := slog.New(slog.DiscardHandler)
		well := func(context.Context) error { return nil }
		w.answers(t, "10.0.0.1:7175", probe.Handler(probe.Config{Live: well, Ready: well, Log: quiet}))
		w.answers(t, "10.0.0.2:7175", probe.Handler(probe.Config{Live: func(context.Context) error { return errors.New("secret") }, Log: quiet}))
		w.answers(t, "10.0.0.3:7175", http.RedirectHandler("http://10.0.0.1:7175/livez", http.StatusFound))
		ready := silent("ready", "10.0.0.8:7175")
		ready.Ready = true
		joined := silent("joined", "10.0.0.9:7175")
		joined.UpdatedBy = "register"
		statetest.Put(t, w, silent("n1", "10.0.0.1:7175")) // silent before this one led
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.askSilent(ctx)
		}()
		synctest.Wait()
		for i := 2; i < 7; i++ {
			door := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7175).String()
			statetest.Put(t, w, silent("n"+string(rune('0'+i)), door))
		}
		statetest.Put(t, w, silent("old", ""), ready, joined)
		time.Sleep(time.Minute)
		for name, says := range map[string]string{
			"n1":  "nothing heard for 15s; its health door 10.0.0.1:7175 answers: the agent is alive, its session is not",
			"n2":  "nothing heard for 15s; its health door 10.0.0.2:7175 answers that the agent hangs",
			"n3":  "nothing heard for 15s; its health door 10.0.0.3:7175 is answered by something else than an agent (HTTP 302)",
			"n4":  "nothing heard for 15s; its health door 10.0.0.4:7175 refuses: the machine is up, its agent does not run",
			"n5":  "nothing heard for 15s; its health door 10.0.0.5:7175 does not answer: the machine, or the way to it, is down",
			"n6":  "nothing heard for 15s; its health door 10.0.0.6:7175 does not answer: the machine, or the way to it, is down",
			"old": "nothing heard for 15s", "ready": "nothing heard for 15s", "joined": "nothing heard for 15s",
		} {
			if st, _ := state.Get[*model.NodeStatus](store.View(), name); st.Why() != says {
				t.Errorf("%s: %q, want %q", name, st.Why(), says)
			}
		}
		w.mu.Lock()
		if len(w.asked) != 6 {
			t.Errorf("asked %v, want each once", strings.Join(w.asked, " "))
		}
		w.mu.Unlock()

		// Heard of while it is asked: what was answered counts no more.
		again := silent("n5", "10.0.0.5:7175")
		statetest.Put(t, w, again)
		time.Sleep(time.Second)
		back := model.Clone(again)
		back.Ready, back.Reason, back.NotReadySince = true, "heartbeat received", time.Time{}
		statetest.Put(t, w, back)
		time.Sleep(time.Minute)
		if st, _ := state.Get[*model.NodeStatus](store.View(), "n5"); st.Why() != "heartbeat received" {
			t.Errorf("n5 is back, and is said to be: %q", st.Why())
		}

		// Whoever leads no more ends at once, also while somebody is asked.
		statetest.Put(t, w, silent("n5", "10.0.0.5:7175"))
		synctest.Wait()
		stop()
		begun := time.Now()
		<-done
		if took := time.Since(begun); took > 0 {
			t.Errorf("ended after %s", took)
		}
	})
}
