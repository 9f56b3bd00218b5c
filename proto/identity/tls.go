package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// ServerTLS makes the settings of a listener that takes only clients with a certificate that peers agrees to.
func ServerTLS(source *Source, peers Peers) *tls.Config {
	return serverTLS(source, peers, tls.RequireAnyClientCert)
}

// JoinServerTLS makes the settings of a listener that takes what ServerTLS takes and, besides, clients without a
// certificate. Those are strangers: PeerOf answers ErrNoCertificate for them, and every call but Join must refuse them.
func JoinServerTLS(source *Source, peers Peers) *tls.Config {
	return serverTLS(source, peers, tls.RequestClientCert)
}

func serverTLS(source *Source, peers Peers, auth tls.ClientAuthType) *tls.Config {
	if peers.Known == nil {
		peers.Known = func(Fingerprint, ID) error {
			return fmt.Errorf("%w: there is no record of keys", ErrUnknownKey)
		}
	}
	config := baseTLS()
	config.ClientAuth = auth
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return source.certificate() }
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 && auth == tls.RequestClientCert {
			return nil
		}
		own, err := source.Current()
		if err != nil {
			return err
		}
		return peers.check(state, own.Roots, x509.ExtKeyUsageClientAuth)
	}
	return config
}

// ClientTLS makes the settings of a dialer that shows the source's certificate and takes only what peers agrees to.
func ClientTLS(source *Source, peers Peers) *tls.Config {
	config := baseTLS()
	config.InsecureSkipVerify = true // replaced by VerifyConnection: names are IDs here, not hosts
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return source.certificate()
	}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		own, err := source.Current()
		if err != nil {
			return err
		}
		return peers.check(state, own.Roots, x509.ExtKeyUsageServerAuth)
	}
	return config
}

// ErrPinMismatch is the answer to a server that is not of the cluster that made the token.
var ErrPinMismatch = errors.New("the server does not show the CA that the token names: " +
	"wrong address, a token of another cluster, or somebody in between")

// PinnedTLS makes the settings of a machine that joins: it has no certificate and takes a coordinator whose CA has the
// hash that came with the token. Nil for now means time.Now.
func PinnedTLS(ca Hash, now func() time.Time) *tls.Config {
	peers := Peers{Allow: AllowRoles(Server), Now: now}
	config := baseTLS()
	config.InsecureSkipVerify = true // replaced by VerifyConnection: the CA is known by its hash
	config.VerifyConnection = func(state tls.ConnectionState) error {
		root, err := pinned(state, ca)
		if err != nil {
			return err
		}
		return peers.check(state, Roots{root}, x509.ExtKeyUsageServerAuth)
	}
	return config
}

func pinned(state tls.ConnectionState, ca Hash) (*x509.Certificate, error) {
	for _, cert := range state.PeerCertificates {
		if HashOf(cert) == ca {
			return cert, nil
		}
	}
	return nil, ErrPinMismatch
}

// baseTLS turns resumption off, so that every connection shows a certificate that is checked now.
func baseTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true}
}
