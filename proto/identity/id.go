package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Role is what the holder of a certificate may act as.
type Role string

// The roles: two for machines, three for people in rising power.
const (
	Server   Role = "server"
	Agent    Role = "agent"
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// Machine reports whether r belongs to a daemon, whose key the cluster has on record.
func (r Role) Machine() bool { return r == Server || r == Agent }

// Person reports whether r belongs to a user of the admin API.
func (r Role) Person() bool { return r == Viewer || r == Operator || r == Admin }

// ErrInvalidID marks a name that is not an ID.
var ErrInvalidID = errors.New("invalid identity")

const scheme = "spiffe://"

// ID names one holder of a certificate in one cluster.
type ID struct {
	Cluster string
	Role    Role
	Name    string
}

// ParseID reads the form that String writes, and nothing else.
func ParseID(text string) (ID, error) {
	path, ok := strings.CutPrefix(text, scheme)
	if !ok {
		return ID{}, fmt.Errorf("%w %q: want spiffe://<cluster>/<role>/<name>", ErrInvalidID, text)
	}
	parts := strings.Split(path, "/")
	if len(parts) != 3 {
		return ID{}, fmt.Errorf("%w %q: want spiffe://<cluster>/<role>/<name>", ErrInvalidID, text)
	}
	id := ID{Cluster: parts[0], Role: Role(parts[1]), Name: parts[2]}
	if err := id.Validate(); err != nil {
		return ID{}, err
	}
	return id, nil
}

// IDOf reads the ID from a certificate, which must carry exactly one name and that name an ID.
func IDOf(cert *x509.Certificate) (ID, error) {
	others := len(cert.DNSNames) + len(cert.IPAddresses) + len(cert.EmailAddresses)
	if len(cert.URIs) != 1 || others != 0 {
		return ID{}, fmt.Errorf("%w: the certificate has %d URIs and %d other names, want one URI",
			ErrInvalidID, len(cert.URIs), others)
	}
	return ParseID(cert.URIs[0].String())
}

// Validate says what is wrong with id, if anything.
func (id ID) Validate() error {
	if !isLabel(id.Cluster) {
		return fmt.Errorf("%w: cluster %q: want 1 to 63 of a-z, 0-9 and inner hyphens", ErrInvalidID, id.Cluster)
	}
	if !id.Role.Machine() && !id.Role.Person() {
		return fmt.Errorf("%w: role %q: want server, agent, viewer, operator or admin", ErrInvalidID, id.Role)
	}
	if !isLabel(id.Name) {
		return fmt.Errorf("%w: name %q: want 1 to 63 of a-z, 0-9 and inner hyphens", ErrInvalidID, id.Name)
	}
	return nil
}

// String is the ID as it stands in certificates.
func (id ID) String() string {
	return scheme + id.Cluster + "/" + string(id.Role) + "/" + id.Name
}

func (id ID) uri() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: id.Cluster, Path: "/" + string(id.Role) + "/" + id.Name}
}

// isLabel reports whether s is a DNS label in lower case, the form of every name in rvol.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
