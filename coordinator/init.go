package coordinator

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// InitConfig says what cluster to make, and what its first member is.
type InitConfig struct {
	Dir     string
	Cluster string // name in every certificate; empty: drawn
	Name    string // of this member
	API     string // host:port under which others reach it
	Raft    string

	AdminConfig string // where to write a client configuration with the role admin; empty: nowhere
	Admin       string // whose it is; empty: admin
	Version     string
}

// Init makes a new cluster with one member, whose first Run brings it to life. It refuses
// a directory that holds a member already.
func Init(c InitConfig) error {
	now := time.Now()
	if c.Cluster == "" {
		c.Cluster = "rvol-" + strings.ToLower(rand.Text()[:10])
	}
	p := place{Name: c.Name, API: c.API, Raft: c.Raft}
	if err := errors.Join(p.check(), model.CheckName("cluster", c.Cluster, model.MaxName)); err != nil {
		return err
	}
	if err := fresh(c.Dir); err != nil {
		return err
	}
	ca, err := identity.NewCA(c.Cluster, now)
	if err != nil {
		return err
	}
	sealing := identity.NewSealingKey()
	own, err := newServer(c.Dir, ca, c.Name, now)
	if err != nil {
		return err
	}
	admin, err := firstAdmin(&c, ca, now)
	if err != nil {
		return err
	}
	birth, err := founding{ca: ca, sealing: sealing, own: own, admin: admin.Cert, now: now}.entry(c)
	if err != nil {
		return err
	}
	alone := roster{Time: now, Keys: []string{identity.FingerprintOf(own.Certificate()).String()}}
	if err := errors.Join(
		identity.WriteFile(sealingFile(c.Dir), sealing.Reveal()), saveJSON(birthFile(c.Dir), birth), alone.save(c.Dir),
	); err != nil {
		return err
	}
	if c.AdminConfig != "" {
		if err := admin.Save(c.AdminConfig); err != nil {
			return fmt.Errorf("write the client configuration of %s: %w", c.Admin, err)
		}
	}
	return p.save(c.Dir)
}

// firstAdmin makes the certificate of the first admin, when one is wanted.
func firstAdmin(c *InitConfig, ca *identity.CA, now time.Time) (clientconfig.Config, error) {
	if c.AdminConfig == "" {
		return clientconfig.Config{}, nil
	}
	if c.Admin == "" {
		c.Admin = "admin"
	}
	config, err := certify(ca, person{Name: c.Admin, Role: identity.Admin, Endpoints: []string{c.API}}, now)
	if err != nil {
		return config, fmt.Errorf("make the certificate of %s: %w", c.Admin, err)
	}
	return config, nil
}

// fresh makes the directory, and refuses one that holds a member.
func fresh(dir string) error {
	if err := identity.MakeStateDir(dir); err != nil {
		return err
	}
	_, err := os.Stat(placeFile(dir))
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s holds a coordinator", model.ErrExists, dir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for a coordinator in %s: %w", dir, err)
	}
	return nil
}

// newServer makes the credentials of the first member.
func newServer(dir string, ca *identity.CA, name string, now time.Time) (*identity.Credentials, error) {
	key, err := identityDir(dir).EnsureKey()
	if err != nil {
		return nil, err
	}
	cert, err := ca.SignMachine(&key.PublicKey, identity.ID{Cluster: ca.Cluster(), Role: identity.Server, Name: name}, now)
	if err != nil {
		return nil, err
	}
	return identityDir(dir).Save(cert, identity.Roots{ca.Certificate()})
}

// founding is what a new cluster begins with.
type founding struct {
	ca      *identity.CA
	sealing identity.SealingKey
	own     *identity.Credentials
	admin   string // PEM of the first admin's certificate; empty: there is none
	now     time.Time
}

// entry is the transaction that the first leader proposes before anything else.
func (f founding) entry(c InitConfig) (state.Txn, error) {
	ca, now := f.ca, f.now
	sealed, err := ca.Seal(f.sealing)
	if err != nil {
		return state.Txn{}, err
	}
	cluster := &model.Cluster{
		ID: ca.Cluster(), Incarnation: 1, Format: state.MaxFormat,
		CA: string(identity.EncodeCertificates(ca.Certificate())), CAKey: sealed,
	}
	cluster.Name, cluster.CreatedAt, cluster.UID = model.ClusterName, now, rand.Text()
	m := &model.Member{RaftAddr: c.Raft, APIAddr: c.API, Version: c.Version, Formats: [2]int{state.MinFormat, state.MaxFormat}}
	m.Name, m.CreatedAt, m.UID = c.Name, now, rand.Text()
	i := &model.Identity{Kind: string(identity.Server), Subject: c.Name}
	i.Name, i.CreatedAt = identity.FingerprintOf(f.own.Certificate()).String(), now
	b := state.NewTxn("coordinator/"+c.Name, "make cluster "+cluster.ID).Put(cluster).Put(m).Put(i)
	if f.admin != "" {
		certs, err := identity.ParseCertificates([]byte(f.admin))
		if err != nil {
			return state.Txn{}, err
		}
		p := &model.Identity{Kind: string(identity.Admin), Subject: c.Admin, ExpiresAt: certs[0].NotAfter}
		p.Name, p.CreatedAt = identity.FingerprintOf(certs[0]).String(), now
		b.Put(p)
	}
	return b.Txn()
}

// person is somebody who gets a certificate for the admin API.
type person struct {
	Name      string
	Role      identity.Role
	Endpoints []string
	Life      time.Duration // 0: a year
}

// certify makes a person's client configuration, with a new key.
func certify(ca *identity.CA, p person, now time.Time) (clientconfig.Config, error) {
	var none clientconfig.Config
	key, err := identity.GenerateKey()
	if err != nil {
		return none, err
	}
	setDefault(&p.Life, identity.MaxPersonLifetime)
	cert, err := ca.SignPerson(&key.PublicKey, identity.ID{Cluster: ca.Cluster(), Role: p.Role, Name: p.Name}, now, p.Life)
	if err != nil {
		return none, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	text, err := identity.EncodeKey(key)
	if err != nil {
		return none, err
	}
	return clientconfig.Config{
		Cluster: ca.Cluster(), Endpoints: p.Endpoints, Key: string(text),
		CA:   string(identity.EncodeCertificates(ca.Certificate())),
		Cert: string(identity.EncodeCertificates(cert)),
	}, nil
}
