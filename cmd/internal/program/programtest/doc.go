// Package programtest holds the manual and the settings of a service to what its verbs say
// of themselves.
//
// Its rule: it reads the files in packaging and runs nothing.
package programtest
