package agent

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/status"

	"rvol/agent/host"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// A Place is what a node remembers of having joined.
type Place struct {
	Name         string            `json:"name"`
	Cluster      string            `json:"cluster"`
	Coordinators []string          `json:"coordinators"` // API addresses
	Addresses    map[string]string `json:"addresses"`    // by network
	Lab          bool              `json:"lab,omitempty"`
}

// DefaultNetwork is the network that a node has unless told otherwise.
const DefaultNetwork = "default"

func placeFile(state string) string { return filepath.Join(state, "node.json") }

// IdentityDir is where the node's key and certificate are.
func IdentityDir(state string) identity.Dir { return identity.Dir(filepath.Join(state, "identity")) }

// LoadPlace reads what Join wrote. The error is fs.ErrNotExist when the node
// has not joined.
func LoadPlace(state string) (Place, error) {
	var p Place
	b, err := os.ReadFile(placeFile(state))
	if err != nil {
		return p, fmt.Errorf("read who this node is: %w", err)
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("read who this node is from %s: %w", placeFile(state), err)
	}
	return p, nil
}

// JoinConfig says which cluster to join, and as whom.
type JoinConfig struct {
	State        string // folder of the agent
	Token        string
	Coordinators []string // API addresses, asked in turn
	Name         string   // of the node
	Zone         string
	Addresses    map[string]string // by network; none: the one that leads to the coordinator
	Labels       map[string]string
	Lab          bool      // addresses may be loopback ones
	Simulated    bool      // the machine is: its addresses are not on any interface
	Dial         NetDialer // nil: TCP
}

// Join makes this machine a node of a cluster. The key is made here and stays
// here. A join that was cut off is repeated with the same token.
func Join(ctx context.Context, c JoinConfig) (Place, error) {
	token, err := identity.ParseToken(c.Token)
	if err != nil {
		return Place{}, err
	}
	if p, err := LoadPlace(c.State); !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("this machine is node %s of cluster %s already: to join anew, release its volumes and remove %s", p.Name, p.Cluster, c.State)
	}
	if len(c.Coordinators) == 0 {
		return Place{}, errors.New("name a coordinator to join: --coordinator HOST:PORT")
	}
	if c.Dial == nil {
		c.Dial = TCP
	}
	if err := c.findAddresses(ctx); err != nil {
		return Place{}, err
	}
	if err := identity.MakeStateDir(c.State); err != nil {
		return Place{}, err
	}
	key, err := IdentityDir(c.State).EnsureKey()
	if err != nil {
		return Place{}, err
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		return Place{}, err
	}
	answer, err := c.ask(ctx, token, &agentv1.JoinRequest{
		Token: c.Token, Csr: csr, Name: c.Name, Zone: c.Zone, Addresses: c.Addresses, Labels: c.Labels,
	})
	if err != nil {
		return Place{}, err
	}
	return c.keep(answer)
}

// findAddresses settles and checks the replication addresses.
func (c *JoinConfig) findAddresses(ctx context.Context) error {
	scope := scopeOf(c.Lab)
	if len(c.Addresses) == 0 {
		addr, err := towards(ctx, c.Coordinators[0])
		if err != nil {
			return err
		}
		c.Addresses = map[string]string{DefaultNetwork: addr.String()}
	}
	if c.Simulated {
		return nil
	}
	if _, missing := checkAddresses(c.Addresses, scope); len(missing) > 0 {
		return fmt.Errorf("%s: name one with --address %s=IP", whyMissing(missing), DefaultNetwork)
	}
	return nil
}

func scopeOf(lab bool) host.Scope {
	if lab {
		return host.Loopback
	}
	return host.Routable
}

// towards is this machine's address on the way to another; nothing is sent.
func towards(ctx context.Context, addr string) (netip.Addr, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", addr)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find this machine's address towards %s: %w", addr, err)
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	return local.Addr().Unmap(), err
}

// ask redeems the token with the first coordinator that answers.
func (c JoinConfig) ask(ctx context.Context, token identity.Token, req *agentv1.JoinRequest) (*agentv1.JoinResponse, error) {
	var errs []error
	for _, addr := range c.Coordinators {
		conn, err := connect(addr, c.Dial, identity.PinnedTLS(token.CA, time.Now))
		if err != nil {
			return nil, err
		}
		call, cancel := context.WithTimeout(ctx, 30*time.Second)
		answer, err := agentv1.NewAgentsClient(conn).Join(call, req)
		cancel()
		_ = conn.Close() // the answer is here, or will not come
		if err == nil {
			return answer, nil
		}
		errs = append(errs, fmt.Errorf("join by %s: %s", addr, status.Convert(err).Message()))
	}
	return nil, errors.Join(errs...)
}

// keep writes down who this node is, last of all: only then has it joined.
func (c JoinConfig) keep(answer *agentv1.JoinResponse) (Place, error) {
	if _, err := saveCertificate(c.State, answer.GetCertificate(), answer.GetCa()); err != nil {
		return Place{}, err
	}
	p := Place{
		Name: c.Name, Cluster: answer.GetCluster(), Addresses: c.Addresses, Lab: c.Lab,
		Coordinators: append(append([]string{}, answer.GetCoordinators()...), c.Coordinators...),
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return Place{}, err
	}
	return p, identity.WriteFile(placeFile(c.State), append(b, '\n'))
}

func saveCertificate(state string, cert, ca []byte) (*identity.Credentials, error) {
	own, err := x509.ParseCertificate(cert)
	if err != nil {
		return nil, fmt.Errorf("read the certificate from the cluster: %w", err)
	}
	root, err := x509.ParseCertificate(ca)
	if err != nil {
		return nil, fmt.Errorf("read the CA of the cluster: %w", err)
	}
	return IdentityDir(state).Save(own, identity.Roots{root})
}
