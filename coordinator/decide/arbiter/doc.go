// Package arbiter decides which copy of a volume on DRBD 8.4 may go on without the other.
//
// Its rule: a copy is let go on alone when no other was, and no other may be Primary.
package arbiter
