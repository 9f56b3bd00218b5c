package sim

import (
	"sync/atomic"
	"time"
)

// wall is the clock of one machine that somebody may set. Time itself, and the monotonic
// clocks by which all machines measure it, are the bubble's.
type wall struct {
	ahead atomic.Int64 // nanoseconds
	asked atomic.Int64
}

func (w *wall) now() time.Time {
	w.asked.Add(1)
	return time.Now().Add(time.Duration(w.ahead.Load()))
}

// SetClock sets the clock of the machine so far ahead of everybody else's, or behind. A loss
// of power leaves it so.
func (n *Node) SetClock(ahead time.Duration) { n.wall.ahead.Store(int64(ahead)) }

// ClockAsked is how often the coordinator and the agent of the machine have asked what time it is.
func (n *Node) ClockAsked() int64 { return n.wall.asked.Load() }
