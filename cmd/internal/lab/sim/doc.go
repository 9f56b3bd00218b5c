// Package sim is the simulated world of the lab: coordinators and agents run as they
// are, in one process, on simulated LVM and DRBD and a network in memory.
//
// Nothing in it waits but on timers of package time: in a testing/synctest bubble a
// cluster lives minutes in milliseconds. Outside one it is a cluster to play with.
package sim
