// Package program is what the command lines of the services share: verbs, flags that have
// twins in the environment, and exit codes.
//
// Its rule: it knows none of the services.
package program
