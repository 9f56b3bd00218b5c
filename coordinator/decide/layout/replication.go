package layout

import "fmt"

// A Replication is the older name of four of the combinations.
type Replication string

// The older names.
const (
	None                       Replication = "None"
	Availability               Replication = "Availability"
	Consistency                Replication = "Consistency"
	ConsistencyAndAvailability Replication = "ConsistencyAndAvailability"
)

// FailureNumbers says which FTT and GMDR an older name stands for.
func (r Replication) FailureNumbers() (ftt, gmdr int, err error) {
	switch r {
	case None:
		return 0, 0, nil
	case Availability:
		return 1, 0, nil
	case Consistency:
		return 0, 1, nil
	case ConsistencyAndAvailability:
		return 1, 1, nil
	}
	return 0, 0, &RefusedError{
		Reason: ReasonUnknownReplication,
		Says: fmt.Sprintf("replication %q is unknown: use %s, %s, %s or %s",
			string(r), None, Availability, Consistency, ConsistencyAndAvailability),
	}
}

// ReplicationOf is the older name of a combination, or nothing where it has none.
func ReplicationOf(ftt, gmdr int) Replication {
	for _, r := range []Replication{None, Availability, Consistency, ConsistencyAndAvailability} {
		if f, g, err := r.FailureNumbers(); err == nil && f == ftt && g == gmdr {
			return r
		}
	}
	return ""
}
