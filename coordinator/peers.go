package coordinator

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// acquaintances is whom this member takes, by the keys in its memory.
type acquaintances struct {
	dir    string
	store  *state.Store
	source *identity.Source
	clock  func() time.Time
	log    *slog.Logger

	mu     sync.Mutex
	saved  roster
	lapsed map[identity.ID]error
}

// api is for clients of the API; serve says what they may do.
func (a *acquaintances) api() *tls.Config {
	return a.also(a.settle, identity.JoinServerTLS(a.source, identity.Peers{
		Allow: identity.AllowRoles(identity.Server, identity.Agent, identity.Viewer, identity.Operator, identity.Admin),
		Known: a.machine, Lapsed: a.noteLapse, Now: a.clock,
	}))
}

// machine is key for machines. People are let in and refused at each call, which can tell them why.
func (a *acquaintances) machine(key identity.Fingerprint, id identity.ID) error {
	if id.Role.Person() {
		return nil
	}
	return a.key(key, id)
}

// key says whether a machine's key stands in the state, or that a person's is not revoked.
func (a *acquaintances) key(key identity.Fingerprint, id identity.ID) error {
	return enroll.Known(a.store.View(), key, id)
}

// members are who may speak Raft, and to whom calls are handed on. Whether their key is
// known is settled by member, which sees the whole certificate.
func (a *acquaintances) members() identity.Peers {
	return identity.Peers{
		Allow:  identity.AllowRoles(identity.Server),
		Known:  func(identity.Fingerprint, identity.ID) error { return nil },
		Lapsed: a.noteLapse,
		Now:    a.clock,
	}
}

// also adds a look at the peer, if it showed a certificate, to TLS settings.
func (a *acquaintances) also(look func(identity.Peer) error, config *tls.Config) *tls.Config {
	check := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := check(state); err != nil || len(state.PeerCertificates) == 0 {
			return err
		}
		peer, err := identity.PeerOf(state)
		if err != nil {
			return err
		}
		return look(peer)
	}
	return config
}

// member says whether a peer is a member of the cluster: its key is on the roster, or it
// joined after the newest entry that this coordinator knows, as its certificate proves.
// Without the second, a coordinator that was away could not be told of the new member by
// the new member.
func (a *acquaintances) member(p identity.Peer) error {
	r := a.current()
	if slices.Contains(r.Keys, p.Key.String()) {
		return a.settle(p)
	}
	if issued := identity.IssuedAt(p.Cert); !issued.After(r.Time) {
		return fmt.Errorf("check the key of %s: %w", p.ID, identity.ErrUnknownKey)
	}
	return p.CheckTime(a.clock())
}

// noteLapse hears of certificates out of their time that are taken all the same.
func (a *acquaintances) noteLapse(p identity.Peer, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, told := a.lapsed[p.ID]; !told {
		a.log.Warn("certificate out of its time", "peer", p.ID.String(), "err", why)
	}
	a.lapsed[p.ID] = why
}

// settle forgets the lapse of somebody who shows a certificate in its time.
func (a *acquaintances) settle(p identity.Peer) error {
	if p.CheckTime(a.clock()) == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.lapsed, p.ID)
	}
	return nil
}

// lapse is why the certificate that somebody showed last was out of its time, or nil.
func (a *acquaintances) lapse(id identity.ID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lapsed[id]
}

// out is for connections that this member makes to others.
func (a *acquaintances) out() *tls.Config {
	return a.also(a.member, identity.ClientTLS(a.source, a.members()))
}

// in is for Raft connections that others make.
func (a *acquaintances) in() *tls.Config {
	return a.also(a.member, identity.ServerTLS(a.source, a.members()))
}
