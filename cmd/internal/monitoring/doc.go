// Package monitoring holds together what both daemons tell monitoring, what the manual says of it,
// and what the alerts and the dashboard make of it.
//
// It has tests only. They look at a simulated cluster through the doors that Prometheus uses.
package monitoring
