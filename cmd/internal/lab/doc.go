// Package lab is a whole cluster on one machine: nodes one can use, look into and hurt.
//
// It holds the words that every world shares; the worlds themselves are packages below: kernel boots
// real Linux kernels, remote is a world that lives in another process. Scripts and commands
// use a World and do not know which one it is.
package lab
