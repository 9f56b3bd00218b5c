package enroll

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// Office signs certificates in the name of the cluster.
type Office struct {
	Sealing identity.SealingKey // opens the CA key in the state
}

// CA opens the cluster's certificate authority.
func (o Office) CA(v state.View) (*identity.CA, error) {
	c, ok := state.Get[*model.Cluster](v, model.ClusterName)
	if !ok {
		return nil, fmt.Errorf("%w: this coordinator does not know its cluster yet", model.ErrUnavailable)
	}
	roots, err := identity.ParseRoots([]byte(c.CA))
	if err != nil {
		return nil, fmt.Errorf("read the CA in the state: %w", err)
	}
	return identity.OpenCA(roots[0].Raw, c.CAKey, o.Sealing)
}

// Application is what a machine without a certificate asks.
type Application struct {
	Kind  identity.TokenKind
	Token string
	CSR   []byte // DER
	Name  string
}

// Ticket is an application that may be granted.
type Ticket struct {
	ID       identity.ID
	Key      *ecdsa.PublicKey
	Token    *model.Token      // redeemed; to be put
	Identity *model.Identity   // to be put
	Replaced []*model.Identity // former keys of a machine that was set up anew; to be deleted
	Granted  bool              // before, and the answer was lost: there is nothing to put
}

// Examine says whether an application may be granted at now.
func (o Office) Examine(v state.View, a Application, now time.Time) (*Ticket, error) {
	token, err := identity.ParseToken(a.Token)
	if err != nil {
		return nil, err
	}
	if token.Kind != a.Kind {
		return nil, fmt.Errorf("%w: it lets a %s join, this is a %s", identity.ErrWrongToken, token.Kind, a.Kind)
	}
	if err := model.CheckName(string(a.Kind), a.Name, model.MaxName); err != nil {
		return nil, err
	}
	key, print, err := keyOf(a.CSR)
	if err != nil {
		return nil, err
	}
	stored, ok := state.Get[*model.Token](v, token.ID)
	if !ok {
		return nil, identity.ErrWrongToken
	}
	record, err := recordOf(stored)
	if err != nil {
		return nil, err
	}
	if err := record.Check(identity.Redemption{Token: token, Name: a.Name, Key: print}, now); err != nil {
		return nil, err
	}
	cluster, ok := state.Get[*model.Cluster](v, model.ClusterName)
	if !ok {
		return nil, fmt.Errorf("%w: this coordinator does not know its cluster yet", model.ErrUnavailable)
	}
	t := &Ticket{ID: identity.ID{Cluster: cluster.ID, Role: a.Kind.Role(), Name: a.Name}, Key: key, Token: model.Clone(stored)}
	t.Token.RedeemedBy = print.String()
	return t, t.identify(v, stored, print, now)
}

// identify records the key as that of the ticket's holder. A name that has joined before
// takes another key only by a token made for that name.
func (t *Ticket) identify(v state.View, stored *model.Token, print identity.Fingerprint, now time.Time) error {
	t.Identity = &model.Identity{Kind: string(t.ID.Role), Subject: t.ID.Name}
	t.Identity.Name, t.Identity.CreatedAt = print.String(), now
	for i := range state.All[*model.Identity](v) {
		same := i.Kind == string(t.ID.Role) && i.Subject == t.ID.Name
		switch {
		case i.Name == t.Identity.Name && same:
			t.Identity, t.Granted = model.Clone(i), stored.RedeemedBy == i.Name
		case i.Name == t.Identity.Name:
			return door.Refuse(model.ErrExists, i.Key(), fmt.Sprintf("this key is that of %s %s", i.Kind, i.Subject), "make a new key: remove the one in the machine's directory and join again")
		case same && (t.Token.Subject != t.ID.Name || t.ID.Role == identity.Server):
			return t.taken()
		case same:
			t.Replaced = append(t.Replaced, i)
		}
	}
	return nil
}

func (t *Ticket) taken() error {
	if t.ID.Role == identity.Server {
		return door.Refuse(model.ErrExists, model.Key{Kind: model.KindMember, Name: t.ID.Name}, "has joined with another key",
			"remove it first with `rvol cluster remove "+t.ID.Name+"`, or use another name")
	}
	return door.Refuse(model.ErrExists, model.Key{Kind: model.KindNode, Name: t.ID.Name}, "has joined with another key",
		"if this is that machine, set up anew, make a token for it: `rvol token create node --name "+t.ID.Name+"`")
}

// Add puts what makes the ticket valid into b.
func (t *Ticket) Add(b *state.Build) {
	b.Put(t.Token).Put(t.Identity)
	for _, i := range t.Replaced {
		b.Delete(i)
	}
}

// Sign makes a machine's certificate for a key that the state knows as its own.
func (o Office) Sign(v state.View, key *ecdsa.PublicKey, id identity.ID, now time.Time) (cert, ca *x509.Certificate, err error) {
	print, err := identity.KeyFingerprint(key)
	if err != nil {
		return nil, nil, err
	}
	if err := Known(v, print, id); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", model.ErrForbidden, err)
	}
	authority, err := o.CA(v)
	if err != nil {
		return nil, nil, err
	}
	cert, err = authority.SignMachineAfter(key, id, now, v.Time()) // never issued before the entry that allows it
	return cert, authority.Certificate(), err
}

// Renew signs a new certificate for the key of the request, which must be the one that
// the caller showed.
func (o Office) Renew(v state.View, c door.Caller, csr []byte, now time.Time) (cert, ca *x509.Certificate, err error) {
	key, print, err := keyOf(csr)
	if err != nil {
		return nil, nil, err
	}
	if print != c.Key {
		return nil, nil, fmt.Errorf("%w: %s asks for a certificate of another key than its own", model.ErrForbidden, c.Actor())
	}
	return o.Sign(v, key, c.ID, now)
}

// Known says whether a key is on record for a machine, or that a person's is not revoked.
func Known(v state.View, key identity.Fingerprint, id identity.ID) error {
	i, ok := state.Get[*model.Identity](v, key.String())
	if id.Role.Person() {
		if ok && !i.RevokedAt.IsZero() {
			return fmt.Errorf("%w: at %s, by %s", identity.ErrUnknownKey, i.RevokedAt.UTC().Format("2006-01-02 15:04:05 MST"), i.RevokedBy)
		}
		return nil
	}
	if !ok || i.Kind != string(id.Role) || i.Subject != id.Name {
		return identity.ErrUnknownKey
	}
	return nil
}

func keyOf(csr []byte) (*ecdsa.PublicKey, identity.Fingerprint, error) {
	key, err := identity.KeyOfRequest(csr)
	if err != nil {
		return nil, identity.Fingerprint{}, fmt.Errorf("%w: the signing request: %w", model.ErrInvalid, err)
	}
	print, err := identity.KeyFingerprint(key)
	return key, print, err
}

// recordOf is a stored token as package identity knows it.
func recordOf(t *model.Token) (identity.TokenRecord, error) {
	r := identity.TokenRecord{ID: t.Name, Kind: identity.TokenKind(t.Kind), Name: t.Subject, Expires: t.ExpiresAt}
	if err := r.Hash.UnmarshalText([]byte(t.Hash)); err != nil {
		return r, fmt.Errorf("read the hash of token %s: %w", t.Name, err)
	}
	if t.RedeemedBy == "" {
		return r, nil
	}
	if _, err := hex.DecodeString(t.RedeemedBy); err != nil {
		return r, fmt.Errorf("read who redeemed token %s: %w", t.Name, err)
	}
	return r, r.RedeemedBy.UnmarshalText([]byte(t.RedeemedBy))
}
