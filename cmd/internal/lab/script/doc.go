// Package script runs the end-to-end scripts of the lab (testdata/*.txtar) in a world:
// each line is a real rvol command, or something that happens to the machines.
//
// Its rule: a script says what a person would do and see, so that the same lines hold in
// every world that can carry them out.
package script
