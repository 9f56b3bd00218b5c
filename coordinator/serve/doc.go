// Package serve is the way in: mutual TLS, roles, request ids, forwarding to the leader,
// and the one table that turns errors into gRPC codes.
//
// Its rule: it knows none of its services. They are handed in, return model's errors,
// and find their caller with package door.
package serve
