// Package observe turns what the tools say of this machine into what package
// decide can compare: LVM's reports, looked at when something changed and at
// most once a minute else, and DRBD's stream of events.
//
// Its rule: what could not be read is said to be unknown, with the reason, and
// what was known before is kept beside it. It changes nothing on the machine.
package observe
