package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Dir is the directory where a machine keeps its key, its certificate and the CAs it trusts. It has one owner.
type Dir string

const (
	keyFile  = "key.pem"
	certFile = "cert.pem" // the certificate, then the CAs: one file, so that they change together
)

// EnsureKey returns the machine's private key and makes one when there is none. It is on disk before it is used, so
// that a join that was cut off is repeated with the same key.
func (d Dir) EnsureKey() (*ecdsa.PrivateKey, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for keys: %w", err)
	}
	if err := d.removeTemps(); err != nil {
		return nil, err
	}
	key, err := d.key()
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = GenerateKey(); err != nil {
		return nil, err
	}
	text, err := EncodeKey(key)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(WriteFile(d.path(keyFile), text), syncDir(filepath.Dir(string(d)))); err != nil {
		return nil, err
	}
	return key, nil
}

// Save keeps a new certificate for the key that is there, with the CAs to trust, and returns the new credentials.
func (d Dir) Save(cert *x509.Certificate, roots Roots) (*Credentials, error) {
	key, err := d.key()
	if err != nil {
		return nil, err
	}
	c, err := NewCredentials(key, cert, roots)
	if err != nil {
		return nil, fmt.Errorf("save the certificate in %s: %w", d, err)
	}
	chain := append([]*x509.Certificate{cert}, roots...)
	if err := WriteFile(d.path(certFile), EncodeCertificates(chain...)); err != nil {
		return nil, err
	}
	return c, nil
}

// Load reads the credentials. The error is fs.ErrNotExist when the machine has not joined yet.
func (d Dir) Load() (*Credentials, error) {
	key, err := d.key()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(d.path(certFile))
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	chain, err := ParseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", d.path(certFile), err)
	}
	c, err := NewCredentials(key, chain[0], chain[1:])
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", d.path(certFile), err)
	}
	return c, nil
}

// Secrets are the lines of the private key's file, so that whoever writes for others can leave them out. What cannot
// be read was written nowhere else.
func (d Dir) Secrets() [][]byte {
	text, err := os.ReadFile(d.path(keyFile))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(bytes.Fields(text), func(f []byte) bool { return len(f) < 16 || bytes.HasPrefix(f, []byte("-----")) })
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

func (d Dir) key() (*ecdsa.PrivateKey, error) {
	text, err := ReadPrivateFile(d.path(keyFile))
	if err != nil {
		return nil, fmt.Errorf("load private key: %w", err)
	}
	key, err := ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", d.path(keyFile), err)
	}
	return key, nil
}

// removeTemps clears what a crash in the middle of WriteFile left behind.
func (d Dir) removeTemps() error {
	for _, name := range []string{keyFile, certFile} {
		temps, err := filepath.Glob(d.path("." + name + tempPattern))
		if err != nil {
			return fmt.Errorf("look for unfinished files in %s: %w", d, err)
		}
		for _, temp := range temps {
			if err := os.Remove(temp); err != nil {
				return fmt.Errorf("remove an unfinished file: %w", err)
			}
		}
	}
	return nil
}
