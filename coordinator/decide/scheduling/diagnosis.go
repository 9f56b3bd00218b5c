package scheduling

import (
	"fmt"
	"strings"
)

// diagnose tells how the candidates of the replica fared.
func (s *step) diagnose(best *choice) *Diagnosis {
	d := &Diagnosis{Candidates: len(s.places), Nodes: len(s.nodes), PerLVG: s.replica.Type == Diskful}
	if !d.PerLVG {
		d.Candidates = len(s.nodes)
	}
	for v, count := range s.excluded {
		if count > 0 {
			d.Excluded = append(d.Excluded, Exclusion{Rule: verdict(v).says(), Count: count})
		}
	}
	if s.in.Explain > 0 {
		s.explain(d, best)
	}
	return d
}

// String is the summary of how the candidates fared.
func (d *Diagnosis) String() string { return d.message() }

// message is the summary: "4 candidates (node×LVG) from 2 eligible nodes; 4 excluded: node not ready".
func (d *Diagnosis) message() string {
	per := ""
	if d.PerLVG {
		per = " (node×LVG)"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d candidates%s from %d eligible nodes", d.Candidates, per, d.Nodes)
	for _, e := range d.Excluded {
		fmt.Fprintf(&s, "; %d excluded: %s", e.Count, e.Rule)
	}
	return s.String()
}

// failure is the reason why nothing survived: where the room of a place was not known, that may be all there is to it.
func (s *step) failure() string {
	if s.excluded[outUnknown] > 0 {
		return ReasonExtenderUnavailable
	}
	return ReasonSchedulingFailed
}
