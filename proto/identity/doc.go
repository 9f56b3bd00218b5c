// Package identity is what both sides of every connection agree on: names in certificates, TLS settings, join tokens.
//
// Everybody in a cluster is known by an [ID], which is the one URI in the certificate that the cluster's [CA] gave:
//
//	spiffe://prod/server/coord-1     a coordinator
//	spiffe://prod/agent/node-7       a node's agent
//	spiffe://prod/operator/anna      a person, or a program that acts for one
//
// Connections are TLS 1.3, both ends show a certificate, and each end checks the other's ID, public key and role; host
// names and addresses prove nothing and are not looked at. A machine that has no certificate yet joins with a [Token],
// which names the CA by its hash. Its private key is made on the machine and stays there.
//
// The package imports the standard library only, logs nothing and keeps no state but what a [Dir] holds.
package identity
