package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"rvol/cmd/internal/lab/sim"
)

// jumps are how far clocks are set wrong: past the patience of everybody, past the life of
// tokens, past a third of the life of certificates, which are renewed then.
var jumps = []time.Duration{5 * time.Minute, time.Hour, 25 * time.Hour, 40 * 24 * time.Hour}

// jump sets the clock of a machine wrong, for its coordinator and its agent, and right again.
// Coordinators ask for the time more often than agents do.
func jump(direction time.Duration) func(*run, *rand.Rand) (string, func() (bool, error)) {
	return func(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
		leaders := rnd.IntN(4) > 0
		n := r.running(rnd, func(i int, n *sim.Node) bool {
			return (!leaders || i < coordinators) && !r.struck(n.Name, clockForward, clockBack)
		})
		if n == nil {
			return "", nil
		}
		by, before := direction*jumps[rnd.IntN(len(jumps))], n.ClockAsked()
		n.SetClock(by)
		return fmt.Sprintf("%s by %s", n.Name, by), func() (bool, error) {
			n.SetClock(0)
			return n.ClockAsked() > before, nil
		}
	}
}
