// Package browse shows links to the person at this machine.
//
// Its rule: a link may be a secret, so it never is an argument of a process.
package browse
