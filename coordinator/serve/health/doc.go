// Package health is the gRPC health service of a coordinator: may clients send their calls here?
//
// Its rule: it knows one question, which the coordinator answers, for the whole server.
package health
