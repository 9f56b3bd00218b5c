package agents

import (
	"crypto/ecdsa"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"rvol/coordinator/model"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// token makes a token; subject is the only name to use it, or empty.
func (w *world) token(kind identity.TokenKind, subject string) string {
	w.t.Helper()
	token, err := identity.NewToken(kind, w.ca.Hash())
	if err != nil {
		w.t.Fatal(err)
	}
	t := &model.Token{Kind: string(kind), Subject: subject, Hash: token.Hash().String(), ExpiresAt: time.Now().Add(15 * time.Minute)}
	t.Name = token.ID
	w.put(t)
	return token.Reveal()
}

func newKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := identity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, csr
}

func TestANodeJoins(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		key, csr := newKey(t)
		r := &agentv1.JoinRequest{
			Token: w.token(identity.NodeToken, ""), Csr: csr, Name: "n3", Zone: "a",
			Addresses: map[string]string{"default": "10.0.0.3"}, Labels: map[string]string{"disk": "ssd"},
		}
		got, err := w.client.Join(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(got.GetCertificate())
		if err != nil {
			t.Fatal(err)
		}
		creds, err := identity.NewCredentials(key, cert, identity.Roots{w.ca.Certificate()})
		if err != nil || creds.ID.String() != "spiffe://test/agent/n3" || got.GetCluster() != "test" || strings.Join(got.GetCoordinators(), "") != "c1:7170" {
			t.Errorf("got %v, %v, %v", creds, err, got.GetCoordinators())
		}
		n, _ := get[*model.Node](w, "n3")
		st, _ := get[*model.NodeStatus](w, "n3")
		if n.Zone != "a" || n.Labels["disk"] != "ssd" || st.Ready || st.Addresses["default"].String() != "10.0.0.3" {
			t.Errorf("node %+v, status %+v", n, st)
		}
		before := w.store.Index()
		if _, err := w.client.Join(t.Context(), r); err != nil || w.store.Index() != before {
			t.Errorf("the same key again: %v, at index %d, want an answer and no entry after %d", err, w.store.Index(), before)
		}
		_, r.Csr = newKey(t)
		_, err = w.client.Join(t.Context(), r)
		refused(t, err, "used by another machine")
	})
}

func refused(t *testing.T, err error, says string) {
	t.Helper()
	if !strings.Contains(status.Convert(err).Message(), says) || err == nil {
		t.Errorf("got %v, want it to say %q", err, says)
	}
}

func TestWhoMayNotJoin(t *testing.T) {
	for _, tc := range []struct {
		name   string
		kind   identity.TokenKind
		change func(*agentv1.JoinRequest)
		after  time.Duration
		says   string
	}{
		{"with a coordinator's token", identity.CoordinatorToken, func(*agentv1.JoinRequest) {}, 0, "lets a coordinator join"},
		{"after the token's time", identity.NodeToken, func(*agentv1.JoinRequest) {}, 16 * time.Minute, "expired"},
		{"with a bad name", identity.NodeToken, func(r *agentv1.JoinRequest) { r.Name = "N 3" }, 0, `"N 3"`},
		{"under the name of a node", identity.NodeToken, func(r *agentv1.JoinRequest) { r.Name = "n1" }, 0, "joined with another key"},
		{"with a loopback address", identity.NodeToken, func(r *agentv1.JoinRequest) { r.Addresses = map[string]string{"default": "::1"} }, 0, "peers cannot reach it"},
		{"with a bad label", identity.NodeToken, func(r *agentv1.JoinRequest) { r.Labels = map[string]string{"": "x"} }, 0, "label key"},
		{"with a bad zone", identity.NodeToken, func(r *agentv1.JoinRequest) { r.Zone = "/" }, 0, "zone name"},
		{"with no token at all", identity.NodeToken, func(r *agentv1.JoinRequest) { r.Token = "" }, 0, "invalid token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				t := w.t
				_, csr := newKey(t)
				r := &agentv1.JoinRequest{Token: w.token(tc.kind, ""), Csr: csr, Name: "n3"}
				tc.change(r)
				time.Sleep(tc.after)
				_, err := w.client.Join(t.Context(), r)
				refused(t, err, tc.says)
			})
		})
	}
}

func TestAMachineThatWasSetUpAnewJoinsByATokenForItsName(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		a := w.connect("n1")
		a.welcome()
		_, csr := newKey(t)
		if _, err := w.client.Join(t.Context(), &agentv1.JoinRequest{Token: w.token(identity.NodeToken, "n1"), Csr: csr, Name: "n1"}); err != nil {
			t.Fatal(err)
		}
		if _, known := get[*model.Identity](w, keyOf("n1").String()); known {
			t.Error("the former key is still known")
		}
		if st, _ := get[*model.NodeStatus](w, "n1"); st.Epoch != 1 {
			t.Error("what is known of the node was thrown away")
		}
	})
}

func TestRenewIsForTheOwnKey(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		_, csr := newKey(t)
		_, err := w.client.Renew(t.Context(), &agentv1.RenewRequest{Csr: csr})
		refused(t, err, "another key than its own")
	})
}
