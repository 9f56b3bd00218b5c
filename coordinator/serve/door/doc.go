// Package door is what all doors share: who calls, under which request id, and how a
// refusal is told.
//
// Its rule: no I/O. Package serve fills in the caller and turns errors into gRPC's;
// the services behind the doors read the one and return the other.
package door
