package layout

import "fmt"

// A Reason is the machine-readable half of a refusal.
type Reason string

// Why a combination is refused.
const (
	ReasonOutOfRange            Reason = "OutOfRange"
	ReasonTooFarApart           Reason = "TooFarApart"
	ReasonUnknownReplication    Reason = "UnknownReplication"
	ReasonUnsupportedByDRBD84   Reason = "UnsupportedByDRBD84"
	ReasonUnsupportedByTopology Reason = "UnsupportedByTopology"
	ReasonUnknownTopology       Reason = "UnknownTopology"
)

// A RefusedError says which combination is not offered, and why.
type RefusedError struct {
	FTT, GMDR int
	Reason    Reason
	Says      string
}

func (e *RefusedError) Error() string { return e.Says }

// Check says whether rvol offers a combination: 0..2 each, and at most one apart.
func Check(ftt, gmdr int) error {
	refuse := func(reason Reason, format string, args ...any) error {
		return &RefusedError{FTT: ftt, GMDR: gmdr, Reason: reason, Says: fmt.Sprintf(format, args...)}
	}
	switch {
	case ftt < 0 || ftt > MaxFailures:
		return refuse(ReasonOutOfRange, "FTT is %d, must be 0 to %d", ftt, MaxFailures)
	case gmdr < 0 || gmdr > MaxFailures:
		return refuse(ReasonOutOfRange, "GMDR is %d, must be 0 to %d", gmdr, MaxFailures)
	case ftt-gmdr > 1 || gmdr-ftt > 1:
		return refuse(ReasonTooFarApart, "FTT=%d, GMDR=%d: the two may differ by at most 1", ftt, gmdr)
	}
	return nil
}

// CheckTopology says whether a combination can keep what a topology promises: a single copy cannot be spread.
func CheckTopology(ftt, gmdr int, t Topology) error {
	if err := Check(ftt, gmdr); err != nil {
		return err
	}
	if t == TransZonal && ftt == 0 && gmdr == 0 {
		return &RefusedError{
			FTT: ftt, GMDR: gmdr, Reason: ReasonUnsupportedByTopology,
			Says: "FTT=0, GMDR=0 is a single copy, TransZonal needs copies in at least 2 zones: use Ignored, or raise GMDR to 1",
		}
	}
	return nil
}
