package control

import "time"

// Result is what became of a decision, in a word.
type Result string

// The results.
const (
	Settled  Result = "settled"   // nothing is to be done
	Waiting  Result = "waiting"   // for something to happen
	Changed  Result = "changed"   // its transaction is in force
	LostRace Result = "lost_race" // somebody was faster
	NoSpace  Result = "no_space"  // refused for capacity
	Failed   Result = "failed"    // it will be tried again
	Stopped  Result = "stopped"   // leadership ended meanwhile
)

// A Meter is told how controllers fare.
type Meter interface {
	// Queue is told of a controller that begins, and how to ask how many of its keys are
	// ready and how many will be later. It returns what to call when the controller ends.
	Queue(controller string, depth func() (ready, later int)) (end func())

	// Decided is told of each decision how long it took, without its transaction.
	Decided(controller string, r Result, took time.Duration)
}

// noMeter is told in vain.
type noMeter struct{}

func (noMeter) Queue(string, func() (int, int)) func() { return func() {} }
func (noMeter) Decided(string, Result, time.Duration)  {}
