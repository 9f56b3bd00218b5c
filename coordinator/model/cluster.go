package model

import (
	"strings"
	"time"
)

// ClusterName is the name of the one Cluster object.
const ClusterName = "cluster"

// Cluster is what all coordinators agree on about themselves.
type Cluster struct {
	Meta
	ID          string `json:"id"`                    // in every certificate: spiffe://<id>/...
	Incarnation uint64 `json:"incarnation"`           // raised by restore and recover; agents compare it before the index
	Format      int    `json:"format"`                // rules and object schema in force
	CA          string `json:"ca"`                    // PEM of the cluster's certificate authority
	CAKey       []byte `json:"ca_key,omitempty"`      // its private key, sealed
	Reconciling bool   `json:"reconciling,omitempty"` // after a restore: nothing is removed until the operator accepts

	// Of the newest restore or recovery.
	Restored string   `json:"restored,omitempty"`  // what the state is, in a sentence
	SetAside []string `json:"set_aside,omitempty"` // nodes whose report is not waited for, sorted
}

// Key is the key of the one cluster object.
func (c *Cluster) Key() Key { return Key{KindCluster, ClusterName} }

// Member is one coordinator.
type Member struct {
	Meta
	RaftAddr string `json:"raft_addr"` // host:port for the other members
	APIAddr  string `json:"api_addr"`  // host:port for the command line and agents
	Version  string `json:"version,omitempty"`
	Formats  [2]int `json:"formats"` // lowest and highest state format this member can serve
}

// Key is the member's key.
func (m *Member) Key() Key { return Key{KindMember, m.Name} }

// Identity is a public key. A machine's may take part, and revocation is its removal; a
// person's is there to be listed, and may take part unless it is revoked. Its name is the
// hexadecimal SHA-256 of the public key.
type Identity struct {
	Meta
	Kind    string `json:"kind"`    // server, agent, or a role of people: viewer, operator, admin
	Subject string `json:"subject"` // name of the member, node or person

	// Of a person's.
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero: not known
	RevokedAt time.Time `json:"revoked_at,omitzero"` // zero: it is good
	RevokedBy string    `json:"revoked_by,omitempty"`
	Reason    string    `json:"reason,omitempty"` // why it was revoked
}

// Key is the identity's key.
func (i *Identity) Key() Key { return Key{KindIdentity, i.Name} }

// Token is an invitation to join, used once.
type Token struct {
	Meta
	Kind       string    `json:"kind"`              // node or coordinator
	Subject    string    `json:"subject,omitempty"` // only this name may use it; empty: any
	Hash       string    `json:"hash"`              // hexadecimal SHA-256 of the secret
	ExpiresAt  time.Time `json:"expires_at"`
	RedeemedBy string    `json:"redeemed_by,omitempty"` // key fingerprint of the joiner; the same key may redeem it again
}

// Key is the token's key.
func (t *Token) Key() Key { return Key{KindToken, t.Name} }

// Secret is read by decide/desired alone; no admin call returns it.
type Secret struct {
	Meta
	Value string `json:"value"`
}

// Key is the secret's key.
func (s *Secret) Key() Key { return Key{KindSecret, s.Name} }

// VolumeSecret is the name of the DRBD shared secret of a volume.
func VolumeSecret(volume string) string { return secretOfVolume + volume }

// SecretVolume undoes VolumeSecret.
func SecretVolume(name string) (volume string, ok bool) {
	return strings.CutPrefix(name, secretOfVolume)
}

const secretOfVolume = "volume/"
