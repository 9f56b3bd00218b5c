// Package act carries out what package decide asks for: one step at a time
// per resource, resources beside each other, and keeps the journal that makes
// a crash between any two steps harmless.
//
// Its rule: what must not happen twice is in the journal, on disk, before it
// happens; and after a step, successful or not, the machine is looked at
// again before anything is concluded.
package act
