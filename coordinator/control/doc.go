// Package control is the one loop that does all the waiting: it reads, lets a controller
// decide, proposes, and tries again. It runs on the leader only.
//
// Its rule: controllers are functions. A controller gathers the records of one key, asks
// package decide, and returns one transaction or a reason to wait; it neither sleeps nor
// writes nor remembers. Retry, back-off, conflict, time, leadership and logging are here,
// written once. One file per controller.
package control
