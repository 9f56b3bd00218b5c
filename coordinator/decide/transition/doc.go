// Package transition changes formed volumes: each change is a plan of ordered steps, with
// what must hold before a step begins, who must confirm it, and how the change is given up.
//
// Its rule: a transition is stored while it runs and may be continued by any leader after any
// crash; so every step says what is to be, never what to do once, and is entered again
// without harm. A change of a plan's steps needs a new version of its name.
package transition
