// Package limit keeps one client from taking the API away from the others: everybody has a
// bucket of calls that fills with time, and whoever comes when all places are taken waits
// in a queue of his own; places are given to the queues in turn.
//
// Its rule: who cannot be served is told at once, and when to come again.
package limit
