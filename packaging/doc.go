// Package packaging is what a machine needs besides the programs: units, users, modules to load, names of devices.
//
// The files are the ones that the packages install; Files lets programs carry them.
package packaging
