package agent_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/test/bufconn"

	"rvol/agent"
	"rvol/agent/host"
	"rvol/drbd/drbdtest"
	agentv1 "rvol/proto/agent/v1"
)

// lateDoor is a health door whose address comes late.
type lateDoor struct {
	there atomic.Bool
	taken atomic.Bool
	l     *bufconn.Listener
}

func (d *lateDoor) health() agent.Health {
	return agent.Health{
		Addr: netip.MustParseAddrPort("10.0.0.1:7175"),
		Check: func() error {
			if d.there.Load() {
				return nil
			}
			return errors.New("no interface has it")
		},
		Listen: func(context.Context) (net.Listener, error) {
			if d.taken.Load() {
				return nil, errors.New("address already in use")
			}
			return d.l, nil
		},
	}
}

// get asks the door.
func (d *lateDoor) get(t *testing.T, path string) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return d.l.DialContext(ctx) },
	}}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://10.0.0.1:7175"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // the status is what counts
	return answer.StatusCode
}

func TestTheHealthDoorOpensAsSoonAsItCanAndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, drbdtest.V84)
		d := &lateDoor{l: bufconn.Listen(1 << 16)}
		d.taken.Store(true)
		l.config.Health = d.health()
		l.run()
		told := func(says string) func() bool {
			return func() bool {
				return l.leader.see(func(r *agentv1.Report) bool {
					for _, c := range r.GetConditions().GetConditions() {
						if c.GetType() == "AddressesPresent" {
							return c.GetMessage() == says
						}
					}
					return false
				})
			}
		}
		l.until("its address is missed", told("health door 10.0.0.1:7175: no interface has it"))
		if h := l.leader.hello; h.GetHealth() != "10.0.0.1:7175" || h.GetHealthError() != "no interface has it" {
			t.Errorf("hello: %v", h)
		}
		d.there.Store(true)
		l.until("its port is missed", told("health door 10.0.0.1:7175: address already in use"))
		d.taken.Store(false)
		l.until("it is open", told(""))
		for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 404, "/": 404} {
			if got := d.get(t, path); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
	})
}

func TestAHealthDoorOfThisMachine(t *testing.T) {
	for addr, says := range map[string]string{
		"127.0.0.1:0": "loopback", "0.0.0.0:7175": "no particular address", "192.0.2.7:7175": "no interface of this machine has 192.0.2.7",
	} {
		if err := agent.HostHealth(netip.MustParseAddrPort(addr), host.Routable).Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", addr, err, says)
		}
	}
	h := agent.HostHealth(netip.MustParseAddrPort("127.0.0.1:0"), host.Loopback)
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	l, err := h.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // it could be opened
}
