// Package blocks writes numbered, checksummed blocks to a device, one after the other, and finds out later which of those that were
// acknowledged are not there.
//
// Its rule: a number is told only after the device has said that its block is stable; what is told must be found.
package blocks
