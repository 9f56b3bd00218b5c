package identity

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Credentials are what one end of a connection shows and trusts. They are never changed, only replaced.
type Credentials struct {
	ID    ID
	Roots Roots
	cert  tls.Certificate
}

// NewCredentials joins a private key with the certificate it was given and the CAs to trust; they must fit each other.
func NewCredentials(key *ecdsa.PrivateKey, cert *x509.Certificate, roots Roots) (*Credentials, error) {
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("the certificate is for another private key")
	}
	id, root, err := roots.verify(cert, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	return &Credentials{ID: id, Roots: roots, cert: tls.Certificate{
		// The CA's certificate travels along for the sake of a joiner that knows only its hash.
		Certificate: [][]byte{cert.Raw, root.Raw},
		PrivateKey:  key,
		Leaf:        cert,
	}}, nil
}

// Certificate is the certificate that the credentials show.
func (c *Credentials) Certificate() *x509.Certificate { return c.cert.Leaf }

// String names the holder and withholds the key.
func (c *Credentials) String() string { return c.ID.String() }

// CheckTime returns ErrLapsed or ErrNotYetValid when the own certificate is out of its time; the other side would only
// say that it is bad.
func (c *Credentials) CheckTime(now time.Time) error {
	return Peer{ID: c.ID, Cert: c.cert.Leaf}.CheckTime(now)
}

// Due says that the holder of a certificate asks for the next one at now: a third of its life is over, or it has not begun,
// because whoever signed it was ahead of the time.
func Due(cert *x509.Certificate, now time.Time) bool {
	return now.Before(cert.NotBefore) || !now.Before(RenewAt(cert))
}

// RenewAt is when a third of a certificate's life is over.
func RenewAt(cert *x509.Certificate) time.Time {
	return cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 3)
}

// Source holds the credentials of the moment. TLS settings made from it follow every Set without a restart; the zero
// value has none yet and refuses to connect.
type Source struct {
	current atomic.Pointer[Credentials]
}

// ErrNoCredentials is the answer of an empty Source.
var ErrNoCredentials = errors.New("this machine has no certificate yet: join it to a cluster first")

// NewSource makes a Source that begins with c.
func NewSource(c *Credentials) *Source {
	s := new(Source)
	s.Set(c)
	return s
}

// Set replaces the credentials for all handshakes from now on.
func (s *Source) Set(c *Credentials) { s.current.Store(c) }

// Current returns the credentials of the moment.
func (s *Source) Current() (*Credentials, error) {
	c := s.current.Load()
	if c == nil {
		return nil, ErrNoCredentials
	}
	return c, nil
}

// Expiry says when the certificate, and the first of the CAs, lapses; zero: there is none.
func (s *Source) Expiry() (certificate, ca time.Time) {
	c := s.current.Load()
	if c == nil {
		return certificate, ca
	}
	for _, root := range c.Roots {
		if ca.IsZero() || root.NotAfter.Before(ca) {
			ca = root.NotAfter
		}
	}
	return c.Certificate().NotAfter, ca
}

func (s *Source) certificate() (*tls.Certificate, error) {
	c, err := s.Current()
	if err != nil {
		return nil, err
	}
	return &c.cert, nil
}

// Roots are the CA certificates that a machine trusts: one, and two while the CA is being replaced.
type Roots []*x509.Certificate

// ParseRoots reads CA certificates from PEM.
func ParseRoots(text []byte) (Roots, error) {
	certs, err := ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	for _, c := range certs {
		if _, err := clusterOf(c); err != nil {
			return nil, err
		}
	}
	return certs, nil
}

// verify checks everything about a certificate but the time, and returns whose it is and which CA signed it.
func (r Roots) verify(cert *x509.Certificate, use x509.ExtKeyUsage) (ID, *x509.Certificate, error) {
	id, err := IDOf(cert)
	if err != nil {
		return ID{}, nil, err
	}
	pool := x509.NewCertPool()
	for _, root := range r {
		pool.AddCert(root)
	}
	chains, err := cert.Verify(x509.VerifyOptions{
		Roots:       pool,
		CurrentTime: cert.NotBefore, // the time is checked apart: see Peers
		KeyUsages:   []x509.ExtKeyUsage{use},
	})
	if err != nil {
		return ID{}, nil, fmt.Errorf("verify the certificate of %s: %w", id, err)
	}
	root := chains[0][len(chains[0])-1]
	cluster, err := clusterOf(root)
	if err != nil {
		return ID{}, nil, err
	}
	if cluster != id.Cluster {
		return ID{}, nil, fmt.Errorf("verify the certificate of %s: signed by the CA of cluster %s", id, cluster)
	}
	if cert.NotAfter.After(root.NotAfter) {
		return ID{}, nil, fmt.Errorf("verify the certificate of %s: it outlives its CA", id)
	}
	return id, root, nil
}
