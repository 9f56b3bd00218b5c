// Package remote is a world that lives in another process: Serve offers any lab.World on a unix socket, Client is a lab.World that uses it,
// Spawn starts the process in the background.
//
// The process that serves owns everything of its world; when it ends, nothing of it is left.
package remote
