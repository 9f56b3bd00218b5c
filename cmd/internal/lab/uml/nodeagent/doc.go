// Package nodeagent runs inside a lab node and serves calls that come over its serial line: run a command, connect to a port.
// The serial line does not depend on the node's network, so a node that is cut off can still be looked into.
//
// It also holds the words of those calls, which the launcher shares.
package nodeagent
