package agents

import (
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	"rvol/coordinator/model"
	agentv1 "rvol/proto/agent/v1"
)

func TestWhatARegisteredNodeLacksForNowIsKept(t *testing.T) {
	const gone = "no interface of this machine has it"
	two := func(h *agentv1.Hello) { h.Addresses["fast"] = "10.1.0.1" }
	for _, tc := range []struct {
		name      string
		first     func(*agentv1.Hello)
		then      func(*agentv1.Hello)
		health    string // afterwards
		addresses int
		says      string // refusal
	}{
		{"an agent of before comes back", nil, func(h *agentv1.Hello) { h.Health = "" }, "invalid AddrPort", 1, ""},
		{"its health door is not open now", nil, func(h *agentv1.Hello) { h.HealthError = gone }, "10.0.0.1:7175", 1, ""},
		{
			"its health door is another, and not open", nil,
			func(h *agentv1.Hello) { h.Health, h.HealthError = "10.2.0.1:7175", gone }, "10.0.0.1:7175", 1,
			"health door 10.2.0.1:7175 is not open: " + gone,
		},
		{"its health door is another", nil, func(h *agentv1.Hello) { h.Health = "10.2.0.1:7000" }, "10.2.0.1:7000", 1, ""},
		{
			"an address is not there now", two,
			func(h *agentv1.Hello) { h.Missing = map[string]string{"fast": gone} }, "10.0.0.1:7175", 2, "",
		},
		{
			"none is there now", nil,
			func(h *agentv1.Hello) { h.Addresses, h.Missing = nil, map[string]string{"default": gone} }, "10.0.0.1:7175", 1, "",
		},
		{"none is there, says an agent of before", nil, func(h *agentv1.Hello) { h.Addresses, h.Health = nil, "" }, "invalid AddrPort", 1, ""},
		{"a network is no more", two, nil, "10.0.0.1:7175", 1, ""},
		{
			"a network is new, and its address is not there", nil,
			func(h *agentv1.Hello) { h.Missing = map[string]string{"fast": gone} }, "10.0.0.1:7175", 1,
			"its replication address of network fast is not there: " + gone,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				t := w.t
				w.connect("n1", some(tc.first)...).welcome()
				_, err := w.connect("n1", some(tc.then)...).stream.Recv()
				if (err != nil) != (tc.says != "") || !strings.Contains(status.Convert(err).Message(), tc.says) {
					t.Errorf("got %v, want %q", err, tc.says)
				}
				st, _ := get[*model.NodeStatus](w, "n1")
				if got := st.Health.String(); got != tc.health || len(st.Addresses) != tc.addresses {
					t.Errorf("health door %s, addresses %v: want %s, and %d", got, st.Addresses, tc.health, tc.addresses)
				}
			})
		})
	}
}

func some(f func(*agentv1.Hello)) []func(*agentv1.Hello) {
	if f == nil {
		return nil
	}
	return []func(*agentv1.Hello){f}
}

func TestAddressesThatOtherMachinesCannotReach(t *testing.T) {
	for _, tc := range []struct {
		addr string
		lab  bool
		says string
	}{
		{"10.0.0.1", false, ""},
		{"fd00::1", false, ""},
		{"127.0.0.1", true, ""},
		{"127.0.0.1", false, "loopback"},
		{"::1", false, "loopback"},
		{"0.0.0.0", true, "no particular"},
		{"::", false, "no particular"},
		{"224.0.0.1", true, "multicast"},
		{"169.254.169.254", true, "link-local"},
		{"fe80::1", false, "link-local"},
		{"fd00::1%eth0", false, "link-local"},
	} {
		s := &service{Config: Config{Loopback: tc.lab}}
		if got := s.unreachable(netip.MustParseAddr(tc.addr)); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s, lab %t: %q, want %q", tc.addr, tc.lab, got, tc.says)
		}
	}
}
