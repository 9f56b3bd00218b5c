package identity

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// Errors of opening what was sealed.
var (
	ErrOtherSealingKey = errors.New("sealed with another sealing key")
	ErrSealBroken      = errors.New("the sealed data was changed or belongs to something else")
)

// A sealed value is: format, the first bytes of the sealing key's hash, then nonce and ciphertext of AES-256-GCM.
const (
	sealFormat  = 1
	sealKeyID   = 8
	sealHeader  = 1 + sealKeyID
	sealKeySize = 32
)

// SealingKey encrypts secrets in the replicated state. Every coordinator holds it in a private file or a systemd
// credential. It does not show itself when printed.
type SealingKey struct {
	secret [sealKeySize]byte
}

// NewSealingKey draws a key.
func NewSealingKey() SealingKey {
	var k SealingKey
	_, _ = rand.Read(k.secret[:]) // crypto/rand ends the process rather than return an error
	return k
}

// ParseSealingKey reads the text that Reveal gives, with or without a newline at its end.
func ParseSealingKey(text []byte) (SealingKey, error) {
	text = bytes.TrimSpace(text)
	var k SealingKey
	if len(text) != hex.EncodedLen(sealKeySize) {
		return SealingKey{}, fmt.Errorf("sealing key has %d characters, want %d hexadecimal digits",
			len(text), hex.EncodedLen(sealKeySize))
	}
	if _, err := hex.Decode(k.secret[:], text); err != nil {
		return SealingKey{}, errors.New("sealing key holds something else than hexadecimal digits")
	}
	return k, nil
}

// LoadSealingKey reads a key from a file that only its owner may read.
func LoadSealingKey(path string) (SealingKey, error) {
	text, err := ReadPrivateFile(path)
	if err != nil {
		return SealingKey{}, fmt.Errorf("load sealing key: %w", err)
	}
	k, err := ParseSealingKey(text)
	if err != nil {
		return SealingKey{}, fmt.Errorf("load sealing key from %s: %w", path, err)
	}
	return k, nil
}

// Reveal is the key as text, for its private file and for a coordinator that joins.
func (k SealingKey) Reveal() []byte { return hex.AppendEncode(nil, k.secret[:]) }

// String withholds the key.
func (SealingKey) String() string { return "(sealing key withheld)" }

// GoString withholds the key.
func (k SealingKey) GoString() string { return k.String() }

// Seal encrypts a secret; it can be opened only together with the same about, which is not hidden.
func (k SealingKey) Seal(secret, about []byte) ([]byte, error) {
	aead, err := k.aead()
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	header := k.header()
	return slices.Concat(header, aead.Seal(nil, nil, secret, slices.Concat(header, about))), nil
}

// Open gives back what Seal was given.
func (k SealingKey) Open(sealed, about []byte) ([]byte, error) {
	if len(sealed) < sealHeader || sealed[0] != sealFormat {
		return nil, ErrSealBroken
	}
	header := k.header()
	if !bytes.Equal(header, sealed[:sealHeader]) {
		return nil, ErrOtherSealingKey
	}
	aead, err := k.aead()
	if err != nil {
		return nil, fmt.Errorf("unseal: %w", err)
	}
	secret, err := aead.Open(nil, nil, sealed[sealHeader:], slices.Concat(header, about))
	if err != nil {
		return nil, ErrSealBroken
	}
	return secret, nil
}

func (k SealingKey) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.secret[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (k SealingKey) header() []byte {
	sum := sha256.Sum256(append([]byte("rvol sealing key "), k.secret[:]...))
	return slices.Concat([]byte{sealFormat}, sum[:sealKeyID])
}
