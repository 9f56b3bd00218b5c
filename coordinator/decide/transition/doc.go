// Package transition changes formed volumes: each change is a plan of ordered steps, with
// what must hold before a step begins, who must confirm it, and how the change is given up.
//
// Its rule: a transition is stored while it runs and may be continued by any leader after any
// crash; so every step says what is to be, never what to do once, and is entered again
// without harm. A change of a plan's steps needs a new version of its name.
//
// It is driven one call at a time, by a controller or by a test: begin with a function that
// returns an Outcome (StartResize, AddDiskful, Replace, RemoveDiskful, ForceRemove ...), write
// what the Outcome puts and deletes, let the agents obey, describe what they report as the
// Members of a new Input, and call Next: it begins the step that is due, or says in Wait who
// has not confirmed the active one. Between two calls that change something the volume stands
// at one step, with some members at its revision and some still at the one before.
package transition
