package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Errors of checking a peer.
var (
	ErrNoCertificate = errors.New("the peer showed no certificate")
	ErrLapsed        = errors.New("certificate has lapsed")
	ErrNotYetValid   = errors.New("certificate is not valid yet")
	ErrNotAllowed    = errors.New("peer may not connect here")
	ErrUnknownKey    = errors.New("key is unknown or was revoked")
)

// Peer is the other end of a connection.
type Peer struct {
	ID   ID
	Key  Fingerprint
	Cert *x509.Certificate
}

// PeerOf says who is at the other end of a connection that was made with this package's TLS settings. The error is
// ErrNoCertificate for a machine that is about to join.
func PeerOf(state tls.ConnectionState) (Peer, error) {
	if len(state.PeerCertificates) == 0 {
		return Peer{}, ErrNoCertificate
	}
	cert := state.PeerCertificates[0]
	id, err := IDOf(cert)
	if err != nil {
		return Peer{}, err
	}
	return Peer{ID: id, Key: FingerprintOf(cert), Cert: cert}, nil
}

// CheckTime returns ErrLapsed or ErrNotYetValid when the peer's certificate is out of its time. A listener that
// tolerates such certificates uses it for the calls that must not.
func (p Peer) CheckTime(now time.Time) error {
	if err := checkTime(p.Cert, now); err != nil {
		return fmt.Errorf("%s: %w", p.ID, err)
	}
	return nil
}

func checkTime(cert *x509.Certificate, now time.Time) error {
	const form = time.RFC3339
	if now.After(cert.NotAfter) {
		return fmt.Errorf("%w at %s, and here it is %s",
			ErrLapsed, cert.NotAfter.UTC().Format(form), now.UTC().Format(form))
	}
	if now.Before(cert.NotBefore) {
		return fmt.Errorf("%w before %s, and here it is %s: check the clocks",
			ErrNotYetValid, cert.NotBefore.UTC().Format(form), now.UTC().Format(form))
	}
	return nil
}

// Peers says whom a listener or a dialer takes. Every function may be called from many goroutines and must not block.
type Peers struct {
	// Allow decides by role and name, as AllowRoles and AllowOnly do. Nil refuses everybody.
	Allow func(ID) error

	// Known decides by key: it returns an error wrapping ErrUnknownKey for a machine whose key is not on record and
	// for anybody whose key was revoked. People's keys are not on record. Nil on a listener refuses everybody; nil on
	// a dialer means that there is no record to ask.
	Known func(Fingerprint, ID) error

	// Lapsed makes a listener or dialer take a machine with a known key whose certificate is out of its time, and is
	// told why (ErrLapsed, ErrNotYetValid). It hears of it before the peer has proven to hold the key. Nil, like a
	// person's certificate or the lack of Known, means that the time is enforced.
	Lapsed func(Peer, error)

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// AllowRoles takes every peer with one of the roles.
func AllowRoles(roles ...Role) func(ID) error {
	return func(id ID) error {
		if slices.Contains(roles, id.Role) {
			return nil
		}
		return fmt.Errorf("%w: %s has role %s, want %q", ErrNotAllowed, id, id.Role, roles)
	}
}

// AllowOnly takes one peer.
func AllowOnly(want ID) func(ID) error {
	return func(id ID) error {
		if id == want {
			return nil
		}
		return fmt.Errorf("%w: it is %s, want %s", ErrNotAllowed, id, want)
	}
}

// check decides whether to take the peer at the other end.
func (p Peers) check(state tls.ConnectionState, roots Roots, use x509.ExtKeyUsage) error {
	peer, err := PeerOf(state)
	if err != nil {
		return err
	}
	if p.Allow == nil {
		return fmt.Errorf("%w: nobody is allowed", ErrNotAllowed)
	}
	if err := p.Allow(peer.ID); err != nil {
		return err
	}
	if _, _, err := roots.verify(peer.Cert, use); err != nil {
		return err
	}
	if p.Known != nil {
		if err := p.Known(peer.Key, peer.ID); err != nil {
			return fmt.Errorf("check the key of %s: %w", peer.ID, err)
		}
	}
	return p.checkTime(peer)
}

func (p Peers) checkTime(peer Peer) error {
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	lapse := peer.CheckTime(now())
	if lapse == nil || p.Known == nil || p.Lapsed == nil || !peer.ID.Role.Machine() {
		return lapse
	}
	p.Lapsed(peer, lapse)
	return nil
}
