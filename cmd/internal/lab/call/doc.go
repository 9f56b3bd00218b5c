// Package call carries one request over one connection: a JSON request, standard input, output and error as they come,
// and an exit. The agent in a node speaks it over the serial line, the lab's background process over its unix socket.
//
// Rule: one connection, one call. Whoever loses interest closes the connection, and the other side stops.
package call
