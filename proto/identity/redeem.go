package identity

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"time"
)

// How long tokens live.
const (
	DefaultTokenTTL = 15 * time.Minute
	MaxTokenTTL     = 24 * time.Hour
)

// Errors of redeeming a token.
var (
	ErrWrongToken   = errors.New("the token is not one of this cluster's")
	ErrTokenExpired = errors.New("the token has expired")
	ErrTokenUsed    = errors.New("the token was used by another machine")
	ErrTokenName    = errors.New("the token is for another name")
)

// TokenRecord is what the state keeps of a token: everything but the secret.
type TokenRecord struct {
	ID   string    `json:"id"`
	Kind TokenKind `json:"kind"`
	Hash Hash      `json:"hash"`
	// Name is the only name to join under; empty means any.
	Name    string    `json:"name,omitempty"`
	Expires time.Time `json:"expires"`
	// RedeemedBy is the key of the machine that used the token; zero while nobody has.
	RedeemedBy Fingerprint `json:"redeemed_by,omitzero"`
}

// Record makes the record of a token for its TTL, where 0 means DefaultTokenTTL.
func (t Token) Record(name string, now time.Time, ttl time.Duration) (TokenRecord, error) {
	if ttl == 0 {
		ttl = DefaultTokenTTL
	}
	if ttl < 0 || ttl > MaxTokenTTL {
		return TokenRecord{}, fmt.Errorf("%w: time to live %s: want more than 0 and at most %s", ErrInvalidToken, ttl, MaxTokenTTL)
	}
	if name != "" && !isLabel(name) {
		return TokenRecord{}, fmt.Errorf("%w: name %q: want 1 to 63 of a-z, 0-9 and inner hyphens", ErrInvalidToken, name)
	}
	return TokenRecord{ID: t.ID, Kind: t.Kind, Hash: t.Hash(), Name: name, Expires: now.Add(ttl)}, nil
}

// Redemption is a machine's attempt to join.
type Redemption struct {
	Token Token
	Name  string
	Key   Fingerprint
}

// Check says whether the machine may join. The machine that used the token may use it again, so that a lost answer does
// not lock it out; no other may. The secret comes first: nobody learns of a record without it.
func (r TokenRecord) Check(by Redemption, now time.Time) error {
	hash := by.Token.Hash()
	same := subtle.ConstantTimeCompare(hash[:], r.Hash[:]) == 1
	if !same || by.Token.ID != r.ID || by.Token.Kind != r.Kind {
		return ErrWrongToken
	}
	if !now.Before(r.Expires) {
		return fmt.Errorf("%w at %s: make another with rvol token create", ErrTokenExpired, r.Expires.UTC().Format(time.RFC3339))
	}
	if r.Name != "" && r.Name != by.Name {
		return fmt.Errorf("%w: it is for %s, and this is %s", ErrTokenName, r.Name, by.Name)
	}
	if r.RedeemedBy != (Fingerprint{}) && r.RedeemedBy != by.Key {
		return fmt.Errorf("%w: make another with rvol token create", ErrTokenUsed)
	}
	return nil
}
