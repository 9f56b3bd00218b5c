// Package formation decides how a new volume comes to life, from nothing to UpToDate:
// Preconfigure, EstablishConnectivity, BootstrapData (seed 001).
//
// Its rule: pure. It looks at committed records and at what agents last said, and
// returns the records to write with a message that names who is waited for. Formation may
// throw everything away and start again, which is why it is only ever entered before the
// volume was first usable: a formed volume is refused.
package formation
