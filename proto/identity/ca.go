package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Lifetimes of certificates.
const (
	CALifetime        = 10 * 365 * 24 * time.Hour
	MachineLifetime   = 90 * 24 * time.Hour
	MaxPersonLifetime = 365 * 24 * time.Hour
)

// backdate lets a peer whose clock is a little behind take a new certificate.
const backdate = 5 * time.Minute

// CA signs the certificates of one cluster.
type CA struct {
	cluster string
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
}

// NewCA makes the CA of a new cluster.
func NewCA(cluster string, now time.Time) (*CA, error) {
	if !isLabel(cluster) {
		return nil, fmt.Errorf("%w: cluster %q: want 1 to 63 of a-z, 0-9 and inner hyphens", ErrInvalidID, cluster)
	}
	key, err := GenerateKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "rvol CA of " + cluster},
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: cluster}},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(CALifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	cert, err := sign(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign the CA of %s: %w", cluster, err)
	}
	return &CA{cluster: cluster, cert: cert, key: key}, nil
}

// OpenCA makes a CA of its certificate in DER and its key as Seal gave it.
func OpenCA(certDER, sealed []byte, with SealingKey) (*CA, error) {
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, fmt.Errorf("read CA certificate: %w", err)
	}
	cluster, err := clusterOf(cert)
	if err != nil {
		return nil, err
	}
	der, err := with.Open(sealed, certDER)
	if err != nil {
		return nil, fmt.Errorf("open the CA key of %s: %w", cluster, err)
	}
	key, err := parseKeyDER(der)
	if err != nil {
		return nil, fmt.Errorf("read the CA key of %s: %w", cluster, err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("the CA key of %s does not belong to its certificate", cluster)
	}
	return &CA{cluster: cluster, cert: cert, key: key}, nil
}

// Seal encrypts the private key for the replicated state; it opens only beside this CA's certificate.
func (ca *CA) Seal(with SealingKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		return nil, fmt.Errorf("encode the CA key of %s: %w", ca.cluster, err)
	}
	return with.Seal(der, ca.cert.Raw)
}

// Cluster is the name of the cluster that the CA signs for.
func (ca *CA) Cluster() string { return ca.cluster }

// String names the CA and withholds its key.
func (ca *CA) String() string { return "CA of cluster " + ca.cluster }

// Certificate is the CA's own certificate; its Raw field is the DER form.
func (ca *CA) Certificate() *x509.Certificate { return ca.cert }

// Hash identifies the CA in tokens.
func (ca *CA) Hash() Hash { return HashOf(ca.cert) }

// SignMachine gives a coordinator or an agent a certificate for MachineLifetime.
func (ca *CA) SignMachine(key *ecdsa.PublicKey, id ID, now time.Time) (*x509.Certificate, error) {
	if !id.Role.Machine() {
		return nil, fmt.Errorf("sign %s: role %q is not a machine's", id, id.Role)
	}
	return ca.sign(key, id, now, now, MachineLifetime)
}

// SignMachineAfter does the same on a clock that may be wrong: what IssuedAt tells of the certificate is not before a time
// that is known to have been, while it is valid from now on.
func (ca *CA) SignMachineAfter(key *ecdsa.PublicKey, id ID, now, been time.Time) (*x509.Certificate, error) {
	if !id.Role.Machine() {
		return nil, fmt.Errorf("sign %s: role %q is not a machine's", id, id.Role)
	}
	return ca.sign(key, id, now, later(now, earlier(been, ca.cert.NotAfter)), MachineLifetime)
}

// SignPerson gives a user of the admin API a certificate for the lifetime asked for.
func (ca *CA) SignPerson(key *ecdsa.PublicKey, id ID, now time.Time, life time.Duration) (*x509.Certificate, error) {
	if !id.Role.Person() {
		return nil, fmt.Errorf("sign %s: role %q is not a person's", id, id.Role)
	}
	if life <= 0 || life > MaxPersonLifetime {
		return nil, fmt.Errorf("sign %s: lifetime %s: want more than 0 and at most %s", id, life, MaxPersonLifetime)
	}
	return ca.sign(key, id, now, now, life)
}

func (ca *CA) sign(key *ecdsa.PublicKey, id ID, now, issued time.Time, life time.Duration) (*x509.Certificate, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	if id.Cluster != ca.cluster {
		return nil, fmt.Errorf("sign %s: this is the CA of cluster %s", id, ca.cluster)
	}
	if key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("sign %s: the key is not ECDSA P-256", id)
	}
	if err := checkTime(ca.cert, issued); err != nil {
		return nil, fmt.Errorf("sign %s: the CA: %w", id, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: string(id.Role) + " " + id.Name},
		URIs:                  []*url.URL{id.uri()},
		NotBefore:             later(now.Add(-backdate), ca.cert.NotBefore),
		NotAfter:              earlier(issued.Add(life), ca.cert.NotAfter),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	if id.Role == Server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	cert, err := sign(template, ca.cert, key, ca.key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", id, err)
	}
	return cert, nil
}

// sign leaves the serial number to the standard library, which draws it at random.
func sign(template, parent *x509.Certificate, key *ecdsa.PublicKey, with *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, with)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// HashOf computes the hash of a CA certificate, by which tokens pin it.
func HashOf(ca *x509.Certificate) Hash { return sha256.Sum256(ca.Raw) }

// clusterOf reads which cluster a CA certificate is for.
func clusterOf(ca *x509.Certificate) (string, error) {
	if !ca.IsCA || len(ca.URIs) != 1 || ca.URIs[0].Path != "" || !isLabel(ca.URIs[0].Host) {
		return "", errors.New("the certificate is not that of an rvol CA")
	}
	return ca.URIs[0].Host, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// IssuedAt is when the CA signed a machine's certificate. Its validity begins a little earlier, or much, when the clock was
// behind what was known to have been.
func IssuedAt(cert *x509.Certificate) time.Time {
	return later(cert.NotBefore.Add(backdate), cert.NotAfter.Add(-MachineLifetime))
}
