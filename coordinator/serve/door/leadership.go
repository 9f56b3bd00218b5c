package door

import "time"

// Leadership is who leads, as far as this coordinator knows.
type Leadership struct {
	Leading bool            // this one does, and remembers all that earlier leaders acknowledged
	Leader  string          // name; empty: nobody is known to lead
	Addr    string          // its API address
	Since   time.Time       // since when there is a leader, or none
	Changed <-chan struct{} // closed when it no longer is so
}
