package layout

import "fmt"

// A Topology says what a class makes of the zones of its nodes.
type Topology string

// The topologies.
const (
	Ignored    Topology = "Ignored"    // zones do not matter
	Zonal      Topology = "Zonal"      // all replicas in one zone
	TransZonal Topology = "TransZonal" // replicas spread over zones, the volume survives the loss of any one
)

// ParseTopology reads a topology; nothing at all means Ignored.
func ParseTopology(s string) (Topology, error) {
	switch t := Topology(s); t {
	case "":
		return Ignored, nil
	case Ignored, Zonal, TransZonal:
		return t, nil
	}
	return "", &RefusedError{
		Reason: ReasonUnknownTopology,
		Says:   fmt.Sprintf("topology %q is unknown: use Ignored, Zonal or TransZonal", s),
	}
}
