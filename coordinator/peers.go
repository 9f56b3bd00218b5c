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
	log    *slog.Logger

	mu     sync.Mutex
	saved  roster
	lapsed map[identity.Fingerprint]error // told once each
}

// everybody is who may speak to the API; serve says what about.
func (a *acquaintances) everybody() identity.Peers {
	return identity.Peers{
		Allow:  identity.AllowRoles(identity.Server, identity.Agent, identity.Viewer, identity.Operator, identity.Admin),
		Known:  func(key identity.Fingerprint, id identity.ID) error { return enroll.Known(a.store.View(), key, id) },
		Lapsed: a.noteLapse,
	}
}

// members are who may speak Raft, and to whom calls are handed on. Whether their key is
// known is settled by strictly, which sees the whole certificate.
func (a *acquaintances) members() identity.Peers {
	return identity.Peers{
		Allow:  identity.AllowRoles(identity.Server),
		Known:  func(identity.Fingerprint, identity.ID) error { return nil },
		Lapsed: a.noteLapse,
	}
}

// strictly adds to settings made with members what they leave out.
func (a *acquaintances) strictly(config *tls.Config) *tls.Config {
	check := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := check(state); err != nil {
			return err
		}
		peer, err := identity.PeerOf(state)
		if err != nil {
			return err
		}
		return a.member(peer)
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
		return nil
	}
	if issued := identity.IssuedAt(p.Cert); !issued.After(r.Time) {
		return fmt.Errorf("check the key of %s: %w", p.ID, identity.ErrUnknownKey)
	}
	return p.CheckTime(time.Now())
}

// noteLapse hears of certificates out of their time that are taken all the same.
func (a *acquaintances) noteLapse(p identity.Peer, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, told := a.lapsed[p.Key]; told {
		return
	}
	if a.lapsed == nil {
		a.lapsed = map[identity.Fingerprint]error{}
	}
	a.lapsed[p.Key] = why
	a.log.Warn("certificate out of its time", "peer", p.ID.String(), "err", why)
}

// out is for connections that this member makes to others.
func (a *acquaintances) out() *tls.Config {
	return a.strictly(identity.ClientTLS(a.source, a.members()))
}

// in is for Raft connections that others make.
func (a *acquaintances) in() *tls.Config {
	return a.strictly(identity.ServerTLS(a.source, a.members()))
}
