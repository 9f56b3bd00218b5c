package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Fingerprint is the SHA-256 of a public key in its SubjectPublicKeyInfo form; the state knows machines by it.
type Fingerprint [sha256.Size]byte

// Hash is the SHA-256 of something that is only compared: a CA certificate in DER, or a token's secret.
type Hash [sha256.Size]byte

// ParseFingerprint reads the form that String writes.
func ParseFingerprint(text string) (Fingerprint, error) {
	var f Fingerprint
	err := f.UnmarshalText([]byte(text))
	return f, err
}

// String is the fingerprint as 64 hexadecimal digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// MarshalText writes the form of String, so that JSON shows the fingerprint as people know it.
func (f Fingerprint) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, f[:]), nil }

// UnmarshalText reads the form of String.
func (f *Fingerprint) UnmarshalText(text []byte) error { return readDigest(f[:], "fingerprint", text) }

// String is the hash as 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the form of String.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads the form of String.
func (h *Hash) UnmarshalText(text []byte) error { return readDigest(h[:], "hash", text) }

func readDigest(into []byte, what string, text []byte) error {
	if want := hex.EncodedLen(len(into)); len(text) != want {
		return fmt.Errorf("read %s: it has %d characters, want %d", what, len(text), want)
	}
	if _, err := hex.Decode(into, text); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}
