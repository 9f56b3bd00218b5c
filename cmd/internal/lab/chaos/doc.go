// Package chaos lets everything go wrong at once in a simulated cluster, while volumes are
// made, used, changed and deleted, and proves after every step that the promises I1 to I10
// of the design hold.
//
// Its rule: what happens follows from the seed, as far as goroutines let it; what is not
// met or never succeeds is a failure, because a fault that nobody hit proves nothing.
//
// Two runs of a seed begin alike and part after a few minutes: which of two goroutines that
// are ready runs first, keys and request ids, and jitter of timers, are not the seed's.
// A clock that jumps is that of the wall; what machines measure by is the bubble's one clock.
package chaos
