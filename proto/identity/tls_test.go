package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

// taking takes the roles, every key, and enforces the time of today.
func taking(roles ...Role) Peers {
	return Peers{Allow: AllowRoles(roles...), Known: everyKey, Now: at(today())}
}

// anyServer is what a well-meaning dialer takes, so that a test sees what the listener decides.
func anyServer() Peers { return Peers{Allow: AllowRoles(Server), Now: at(today())} }

func TestListenersTakeTheirRolesOnly(t *testing.T) {
	w := newWorld(t, "prod")
	source := NewSource(w.issue(t, Server, "coord-1"))
	listeners := []struct {
		name  string
		roles []Role
	}{
		{"raft", []Role{Server}},
		{"agents", []Role{Agent}},
		{"admin", []Role{Viewer, Operator, Admin, Server}},
	}
	for _, l := range listeners {
		config := ServerTLS(source, taking(l.roles...))
		for _, role := range []Role{Server, Agent, Viewer, Operator, Admin} {
			t.Run(fmt.Sprintf("%s meets %s", l.name, role), func(t *testing.T) {
				dialer := w.issue(t, role, "x-1")
				m := meet(t, config, ClientTLS(NewSource(dialer), anyServer()))
				if AllowRoles(l.roles...)(dialer.ID) != nil {
					if !errors.Is(m.server, ErrNotAllowed) || m.client == nil {
						t.Errorf("server said %v, client %v; want ErrNotAllowed", m.server, m.client)
					}
					return
				}
				if err := errors.Join(m.server, m.client, m.peerErr, m.dialPeerErr); err != nil {
					t.Fatal(err)
				}
				got := []ID{m.atServer.ID, m.atClient.ID}
				if diff := cmp.Diff([]ID{dialer.ID, w.id(Server, "coord-1")}, got); diff != "" {
					t.Error(diff)
				}
				if m.atServer.Key != FingerprintOf(dialer.Certificate()) {
					t.Error("the server sees another key")
				}
			})
		}
	}
}

func TestListenersRefuse(t *testing.T) {
	w, other, twin := newWorld(t, "prod"), newWorld(t, "test"), newWorld(t, "prod")
	source := NewSource(w.issue(t, Server, "coord-1"))
	agent := w.issue(t, Agent, "node-1")
	revoked := func(f Fingerprint, _ ID) error {
		if f == FingerprintOf(agent.Certificate()) {
			return ErrUnknownKey
		}
		return nil
	}
	all := []Role{Server, Agent, Viewer, Operator, Admin}
	for name, tc := range map[string]struct {
		peers  Peers
		client *tls.Config
		want   error
		says   string
	}{
		"another cluster's agent": {
			peers: taking(all...), client: dialing(foreign(t, other.issue(t, Agent, "node-1"), w)),
			says: "certificate of spiffe://test/agent/node-1",
		},
		"an agent of a CA that took the cluster's name": {
			peers: taking(all...), client: dialing(foreign(t, twin.issue(t, Agent, "node-1"), w)),
			says: "unknown authority",
		},
		"a revoked key": {
			peers:  Peers{Allow: AllowRoles(all...), Known: revoked, Now: at(today())},
			client: dialing(agent), want: ErrUnknownKey,
		},
		"everybody, without a record of keys": {
			peers:  Peers{Allow: AllowRoles(all...), Now: at(today())},
			client: dialing(agent), want: ErrUnknownKey,
		},
		"everybody, without a rule whom to allow": {
			peers:  Peers{Known: everyKey, Now: at(today())},
			client: dialing(agent), want: ErrNotAllowed,
		},
		"a machine without a certificate": {
			peers: taking(all...), client: PinnedTLS(w.ca.Hash(), at(today())),
			says: "client didn't provide a certificate",
		},
		"a stranger with a certificate of its own making": {
			peers: taking(all...), client: dialing(selfMade(t, w)),
			says: "unknown authority",
		},
		"TLS 1.2": {
			peers: taking(all...), client: older(dialing(agent)),
			says: "unsupported versions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := meet(t, ServerTLS(source, tc.peers), tc.client)
			if m.server == nil || m.client == nil {
				t.Fatalf("server said %v, client %v; want a refusal", m.server, m.client)
			}
			if tc.want != nil && !errors.Is(m.server, tc.want) || !strings.Contains(m.server.Error(), tc.says) {
				t.Errorf("server said %v, want %v %q", m.server, tc.want, tc.says)
			}
		})
	}
}

func dialing(c *Credentials) *tls.Config { return ClientTLS(NewSource(c), anyServer()) }

func older(c *tls.Config) *tls.Config {
	c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	return c
}

// foreign are credentials of one cluster in the hands of somebody who trusts the other cluster's servers.
func foreign(t *testing.T, c *Credentials, trusts world) *Credentials {
	t.Helper()
	copied := *c
	copied.Roots = trusts.roots
	return &copied
}

// selfMade is a certificate with the right names, the CA's too, signed by its own key.
func selfMade(t *testing.T, w world) *Credentials {
	t.Helper()
	key := newKey(t)
	parent := *w.ca.Certificate()
	parent.PublicKey = &key.PublicKey
	cert, err := sign(w.issue(t, Server, "coord-1").Certificate(), &parent, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &Credentials{ID: w.id(Server, "coord-1"), Roots: w.roots, cert: tls.Certificate{
		Certificate: [][]byte{cert.Raw, w.ca.Certificate().Raw}, PrivateKey: key, Leaf: cert,
	}}
}

func TestDialersRefuse(t *testing.T) {
	w, other := newWorld(t, "prod"), newWorld(t, "test")
	server := w.issue(t, Server, "coord-1")
	all := []Role{Server, Agent, Viewer, Operator, Admin}
	gone := func(Fingerprint, ID) error { return ErrUnknownKey }
	for name, tc := range map[string]struct {
		listener *Credentials
		peers    Peers
		want     error
		says     string
	}{
		"an agent that poses as a server":      {listener: w.issue(t, Agent, "node-1"), peers: anyServer(), want: ErrNotAllowed},
		"an admin that poses as a server":      {listener: w.issue(t, Admin, "anna"), peers: anyServer(), want: ErrNotAllowed},
		"a certificate not made for listening": {listener: w.issue(t, Agent, "node-1"), peers: taking(all...), says: "incompatible key usage"},
		"another cluster's server": {
			listener: other.issue(t, Server, "coord-1"), peers: anyServer(), says: "certificate of spiffe://test/server/coord-1",
		},
		"a self-made server": {listener: selfMade(t, w), peers: anyServer(), says: "unknown authority"},
		"another member than the one it called": {
			listener: server, peers: Peers{Allow: AllowOnly(w.id(Server, "coord-2")), Now: at(today())}, want: ErrNotAllowed,
		},
		"a member that was removed": {
			listener: server, peers: Peers{Allow: AllowRoles(Server), Known: gone, Now: at(today())}, want: ErrUnknownKey,
		},
		"a lapsed server, without a record of keys": {
			listener: server, peers: Peers{Allow: AllowRoles(Server), Now: at(today().Add(MachineLifetime + time.Hour))}, want: ErrLapsed,
		},
		"everybody, without a rule whom to allow": {listener: server, peers: Peers{Now: at(today())}, want: ErrNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			client := ClientTLS(NewSource(w.issue(t, Agent, "node-2")), tc.peers)
			m := meet(t, ServerTLS(NewSource(tc.listener), taking(all...)), client)
			if m.client == nil || m.server == nil {
				t.Fatalf("client said %v, server %v; want a refusal", m.client, m.server)
			}
			if tc.want != nil && !errors.Is(m.client, tc.want) || !strings.Contains(m.client.Error(), tc.says) {
				t.Errorf("client said %v, want %v %q", m.client, tc.want, tc.says)
			}
		})
	}
}

func TestCertificatesOutOfTheirTime(t *testing.T) {
	w := newWorld(t, "prod")
	before, lapsed := today().Add(-time.Hour), today().Add(MachineLifetime+time.Hour)
	gone := func(Fingerprint, ID) error { return ErrUnknownKey }
	for name, tc := range map[string]struct {
		role     Role
		now      time.Time
		strict   bool
		known    func(Fingerprint, ID) error
		want     error // of the handshake
		reported error
	}{
		"a lapsed member with a known key is taken and reported":       {role: Server, now: lapsed, known: everyKey, reported: ErrLapsed},
		"a lapsed agent with a known key is taken and reported":        {role: Agent, now: lapsed, known: everyKey, reported: ErrLapsed},
		"an agent from the future with a known key is taken too":       {role: Agent, now: before, known: everyKey, reported: ErrNotYetValid},
		"a lapsed agent is refused where the time is enforced":         {role: Agent, now: lapsed, known: everyKey, strict: true, want: ErrLapsed},
		"a lapsed agent with a revoked key is refused":                 {role: Agent, now: lapsed, known: gone, want: ErrUnknownKey},
		"a lapsed agent without a record of keys is refused":           {role: Agent, now: lapsed, want: ErrUnknownKey},
		"a lapsed admin is refused":                                    {role: Admin, now: lapsed, known: everyKey, want: ErrLapsed},
		"a viewer from the future is refused":                          {role: Viewer, now: before, known: everyKey, want: ErrNotYetValid},
		"an agent in its time is taken and there is nothing to report": {role: Agent, now: today(), known: everyKey},
	} {
		t.Run(name, func(t *testing.T) {
			peers := Peers{Allow: AllowRoles(Server, Agent, Viewer, Admin), Known: tc.known, Now: at(tc.now)}
			var reported error
			if !tc.strict {
				peers.Lapsed = func(_ Peer, why error) { reported = why }
			}
			server := ServerTLS(NewSource(w.issue(t, Server, "coord-1")), peers)
			m := meet(t, server, ClientTLS(NewSource(w.issue(t, tc.role, "x-1")), anyServer()))
			if !errors.Is(m.server, tc.want) || !errors.Is(reported, tc.reported) {
				t.Fatalf("server said %v and reported %v; want %v and %v", m.server, reported, tc.want, tc.reported)
			}
			if tc.want == nil && !errors.Is(m.atServer.CheckTime(tc.now), tc.reported) {
				t.Errorf("CheckTime = %v, want %v", m.atServer.CheckTime(tc.now), tc.reported)
			}
		})
	}
}

func TestDialersTakeALapsedServerWithAKnownKey(t *testing.T) {
	w := newWorld(t, "prod")
	var reported error
	peers := Peers{
		Allow: AllowOnly(w.id(Server, "coord-1")), Known: everyKey, Now: at(today().Add(MachineLifetime + time.Hour)),
		Lapsed: func(_ Peer, why error) { reported = why },
	}
	server := ServerTLS(NewSource(w.issue(t, Server, "coord-1")), taking(Server))
	m := meet(t, server, ClientTLS(NewSource(w.issue(t, Server, "coord-2")), peers))
	if m.client != nil || !errors.Is(reported, ErrLapsed) {
		t.Errorf("client said %v and reported %v", m.client, reported)
	}
}

func TestJoinListenerTakesStrangersAndChecksTheRest(t *testing.T) {
	w, other := newWorld(t, "prod"), newWorld(t, "test")
	server := JoinServerTLS(NewSource(w.issue(t, Server, "coord-1")), taking(Agent))
	for name, tc := range map[string]struct {
		client  *tls.Config
		refused bool
		peer    error
	}{
		"a joiner without a certificate is taken, and is nobody": {client: PinnedTLS(w.ca.Hash(), at(today())), peer: ErrNoCertificate},
		"an agent is taken, and is itself":                       {client: dialing(w.issue(t, Agent, "node-1"))},
		"a role that is not allowed is refused":                  {client: dialing(w.issue(t, Admin, "anna")), refused: true},
		"another cluster's agent is refused":                     {client: dialing(foreign(t, other.issue(t, Agent, "node-1"), w)), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := meet(t, server, tc.client)
			if (m.server != nil) != tc.refused {
				t.Fatalf("server said %v", m.server)
			}
			if !errors.Is(m.peerErr, tc.peer) {
				t.Errorf("PeerOf = %v, want %v", m.peerErr, tc.peer)
			}
		})
	}
}

func TestPinnedDialerRefusesWhoIsInBetween(t *testing.T) {
	w, other := newWorld(t, "prod"), newWorld(t, "prod")
	mixed := other.issue(t, Server, "coord-1")
	mixed.cert.Certificate[1] = w.ca.Certificate().Raw
	caItself := &Credentials{Roots: w.roots, cert: tls.Certificate{
		Certificate: [][]byte{w.ca.Certificate().Raw}, PrivateKey: w.ca.key, Leaf: w.ca.Certificate(),
	}}
	for name, tc := range map[string]struct {
		listener *Credentials
		now      time.Time
		want     error
		says     string
	}{
		"a server of another CA":                {listener: other.issue(t, Server, "coord-1"), now: today(), want: ErrPinMismatch},
		"another CA's server showing ours":      {listener: mixed, now: today(), says: "unknown authority"},
		"a self-made server showing ours":       {listener: selfMade(t, w), now: today(), says: "unknown authority"},
		"an agent of the cluster":               {listener: w.issue(t, Agent, "node-1"), now: today(), want: ErrNotAllowed},
		"the CA's certificate as a server's":    {listener: caItself, now: today(), want: ErrInvalidID},
		"a server whose certificate has lapsed": {listener: w.issue(t, Server, "coord-1"), now: today().Add(MachineLifetime + 1), want: ErrLapsed},
	} {
		t.Run(name, func(t *testing.T) {
			m := meet(t, JoinServerTLS(NewSource(tc.listener), taking(Agent)), PinnedTLS(w.ca.Hash(), at(tc.now)))
			if m.client == nil || tc.want != nil && !errors.Is(m.client, tc.want) || !strings.Contains(m.client.Error(), tc.says) {
				t.Errorf("client said %v, want %v %q", m.client, tc.want, tc.says)
			}
		})
	}
}

func TestSourceIsFollowedWithoutANewConfig(t *testing.T) {
	w := newWorld(t, "prod")
	var servers, clients Source
	server, client := ServerTLS(&servers, taking(Agent)), ClientTLS(&clients, anyServer())
	if m := meet(t, server, client); !errors.Is(m.server, ErrNoCredentials) {
		t.Errorf("an empty listener said %v", m.server)
	}
	servers.Set(w.issue(t, Server, "coord-1"))
	if m := meet(t, server, client); !errors.Is(m.client, ErrNoCredentials) {
		t.Errorf("an empty dialer said %v", m.client)
	}
	for range 2 {
		newServer, newClient := w.issue(t, Server, "coord-1"), w.issue(t, Agent, "node-1")
		servers.Set(newServer)
		clients.Set(newClient)
		m := meet(t, server, client)
		if err := errors.Join(m.server, m.client); err != nil {
			t.Fatal(err)
		}
		if !m.atServer.Cert.Equal(newClient.Certificate()) || !m.atClient.Cert.Equal(newServer.Certificate()) {
			t.Error("a peer saw an older certificate")
		}
	}
}

func TestCAIsReplacedWithoutABreak(t *testing.T) {
	before, after := newWorld(t, "prod"), newWorld(t, "prod")
	both := Roots{before.ca.Certificate(), after.ca.Certificate()}
	trusting := func(c *Credentials, roots Roots) *Source {
		copied := *c
		copied.Roots = roots
		return NewSource(&copied)
	}
	oldServer, newServer := before.issue(t, Server, "c"), after.issue(t, Server, "c")
	oldAgent, newAgent := before.issue(t, Agent, "a"), after.issue(t, Agent, "a")
	for name, pair := range map[string][2]*Source{
		"both old, the server trusts both":  {trusting(oldServer, both), NewSource(oldAgent)},
		"both old, both trust both":         {trusting(oldServer, both), trusting(oldAgent, both)},
		"the server has its new one":        {trusting(newServer, both), trusting(oldAgent, both)},
		"the agent has its new one":         {trusting(newServer, both), trusting(newAgent, both)},
		"the agent trusts the new one only": {trusting(newServer, both), NewSource(newAgent)},
	} {
		t.Run(name, func(t *testing.T) {
			m := meet(t, ServerTLS(pair[0], taking(Agent)), ClientTLS(pair[1], anyServer()))
			if err := errors.Join(m.server, m.client); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewCredentialsRefuses(t *testing.T) {
	w, other := newWorld(t, "prod"), newWorld(t, "prod")
	key := newKey(t)
	cert, err := w.ca.SignMachine(&key.PublicKey, w.id(Agent, "a"), today())
	if err != nil {
		t.Fatal(err)
	}
	misnamed, err := w.ca.SignMachine(&key.PublicKey, w.id(Agent, "a"), today())
	if err != nil {
		t.Fatal(err)
	}
	misnamed.URIs = append(misnamed.URIs, misnamed.URIs[0])
	long, foreignName := *cert, *cert
	long.NotAfter = w.ca.Certificate().NotAfter.Add(time.Hour)
	foreignName.URIs = other.issue(t, Agent, "a").Certificate().URIs
	foreignName.URIs[0].Host = "test"
	resign := func(template *x509.Certificate) *x509.Certificate {
		signed, err := sign(template, w.ca.Certificate(), &key.PublicKey, w.ca.key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	for name, tc := range map[string]struct {
		cert  *x509.Certificate
		roots Roots
		says  string
	}{
		"another key's certificate":          {w.issue(t, Agent, "a").Certificate(), w.roots, "another private key"},
		"another CA's certificate":           {cert, other.roots, "unknown authority"},
		"no CA":                              {cert, nil, "unknown authority"},
		"a certificate with two names":       {misnamed, w.roots, "2 URIs"},
		"a certificate that outlives its CA": {resign(&long), w.roots, "outlives its CA"},
		"a name of another cluster":          {resign(&foreignName), w.roots, "signed by the CA of cluster prod"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewCredentials(key, tc.cert, tc.roots); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestCredentialsKnowTheirTime(t *testing.T) {
	c := newWorld(t, "prod").issue(t, Admin, "anna")
	for now, want := range map[time.Time]error{
		today(): nil, today().Add(-time.Hour): ErrNotYetValid, c.Certificate().NotAfter.Add(1): ErrLapsed,
	} {
		if err := c.CheckTime(now); !errors.Is(err, want) {
			t.Errorf("at %s: %v, want %v", now, err, want)
		}
	}
}

func TestRenewAtIsAThirdOfLife(t *testing.T) {
	cert := &x509.Certificate{NotBefore: today(), NotAfter: today().Add(90 * 24 * time.Hour)}
	if got, want := RenewAt(cert), today().Add(30*24*time.Hour); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestACertificateIsDueBeforeItBeginsAndAfterAThird(t *testing.T) {
	cert := &x509.Certificate{NotBefore: today(), NotAfter: today().Add(90 * 24 * time.Hour)}
	for after, want := range map[time.Duration]bool{-time.Second: true, 0: false, 29 * 24 * time.Hour: false, 30 * 24 * time.Hour: true, 100 * 24 * time.Hour: true} {
		if got := Due(cert, today().Add(after)); got != want {
			t.Errorf("%s after it begins: %v", after, got)
		}
	}
}
