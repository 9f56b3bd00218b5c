// Package hub is an Ethernet switch in user space, with faults: links that are cut, slow or lossy, in one direction or both.
//
// Nodes connect to it over unix sockets that keep packets apart, one socket for each port. It knows frames and ports, and nothing
// of what is in them.
package hub
