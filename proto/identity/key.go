package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
)

// FingerprintOf computes the fingerprint of the key in a certificate.
func FingerprintOf(cert *x509.Certificate) Fingerprint {
	return sha256.Sum256(cert.RawSubjectPublicKeyInfo)
}

// KeyFingerprint computes the fingerprint of a bare public key, the same as of any certificate for it.
func KeyFingerprint(key *ecdsa.PublicKey) (Fingerprint, error) {
	spki, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return Fingerprint{}, fmt.Errorf("encode public key: %w", err)
	}
	return sha256.Sum256(spki), nil
}

// GenerateKey makes a private key of the one kind that rvol uses, ECDSA P-256.
func GenerateKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate private key: %w", err)
	}
	return key, nil
}

// NewRequest makes a signing request in DER. It carries the public key and the proof of holding the private one, and no
// name: the names are for the CA's side to decide.
func NewRequest(key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("make signing request: %w", err)
	}
	return der, nil
}

// KeyOfRequest checks the proof in a signing request and returns its public key. Whatever else the request asks for,
// names, uses, lifetime, is dropped here.
func KeyOfRequest(der []byte) (*ecdsa.PublicKey, error) {
	req, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("read signing request: %w", err)
	}
	if err := req.CheckSignature(); err != nil {
		return nil, fmt.Errorf("check signing request: %w", err)
	}
	key, ok := req.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("check signing request: the key is not ECDSA P-256")
	}
	return key, nil
}
