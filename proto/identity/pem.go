package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	pemCertificate = "CERTIFICATE"
	pemPrivateKey  = "PRIVATE KEY"
)

// EncodeCertificates writes certificates as PEM.
func EncodeCertificates(certs ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range certs {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw}))
	}
	return out.Bytes()
}

// ParseCertificates reads one or more certificates from PEM and refuses anything else between them.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for len(bytes.TrimSpace(text)) > 0 {
		block, rest := pem.Decode(text)
		if block == nil || block.Type != pemCertificate {
			return nil, errors.New("read certificates: found something else than a PEM certificate")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		certs, text = append(certs, cert), rest
	}
	if len(certs) == 0 {
		return nil, errors.New("read certificates: there is none")
	}
	return certs, nil
}

// EncodeKey writes a private key as PEM (PKCS #8).
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivateKey, Bytes: der}), nil
}

// ParseKey reads a private key from PEM. Its errors never quote what they read.
func ParseKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != pemPrivateKey || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("read private key: want one PEM block of type " + pemPrivateKey)
	}
	return parseKeyDER(block.Bytes)
}

func parseKeyDER(der []byte) (*ecdsa.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("read private key: not in PKCS #8 form")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("read private key: not ECDSA P-256")
	}
	return key, nil
}
