package identity_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"rvol/proto/identity"
)

// A node joins: the token goes from the coordinator to the node, the public key from the node to the coordinator, the
// certificate back.
func Example_join() {
	if err := join(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// spiffe://prod/agent/node-1
}

func join() (err error) {
	now := time.Now()
	ca, err := identity.NewCA("prod", now)
	if err != nil {
		return err
	}

	// The coordinator makes a token, stores its record and shows its text.
	token, err := identity.NewToken(identity.NodeToken, ca.Hash())
	if err != nil {
		return err
	}
	record, err := token.Record("node-1", now, 0)
	if err != nil {
		return err
	}

	// The node makes its key, connects with identity.PinnedTLS(token.CA, nil), and sends the token and a request.
	path, err := os.MkdirTemp("", "identity")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	dir := identity.Dir(path)
	key, err := dir.EnsureKey()
	if err != nil {
		return err
	}
	request, err := identity.NewRequest(key)
	if err != nil {
		return err
	}

	// The coordinator checks both, records the key, and signs what it decided itself.
	cert, err := redeem(ca, record, token.Reveal(), request, now)
	if err != nil {
		return err
	}

	// The node saves the answer; identity.NewSource makes TLS settings of it.
	credentials, err := dir.Save(cert, identity.Roots{ca.Certificate()})
	if err != nil {
		return err
	}
	fmt.Println(credentials)
	return nil
}

func redeem(
	ca *identity.CA, record identity.TokenRecord, text string, request []byte, now time.Time,
) (*x509.Certificate, error) {
	token, err := identity.ParseToken(text)
	if err != nil {
		return nil, err
	}
	key, err := identity.KeyOfRequest(request)
	if err != nil {
		return nil, err
	}
	fingerprint, err := identity.KeyFingerprint(key)
	if err != nil {
		return nil, err
	}
	if err := record.Check(identity.Redemption{Token: token, Name: "node-1", Key: fingerprint}, now); err != nil {
		return nil, err
	}
	id := identity.ID{Cluster: ca.Cluster(), Role: record.Kind.Role(), Name: "node-1"}
	return ca.SignMachine(key, id, now)
}
