package layout

// MaxFailures is the largest FTT, and the largest GMDR; the smallest is 0.
const MaxFailures = 2

// A Layout says how many replicas a volume has and how many of them must be there for it to serve.
type Layout struct {
	FTT  int // failures to tolerate while the volume stays usable
	GMDR int // failures that may take copies without losing data

	Diskful     int // replicas with a copy of the data
	TieBreakers int // diskless replicas that vote

	Quorum                  int // votes needed to serve; 1: quorum is off
	QuorumMinimumRedundancy int // UpToDate copies needed to serve

	// Arbiter says that the majority of the coordinators stands in the tie-breaker's place (DRBD 8.4).
	Arbiter bool
}

// New returns the layout of a class, or a *RefusedError for a combination that rvol does not offer.
func New(ftt, gmdr int) (Layout, error) {
	if err := Check(ftt, gmdr); err != nil {
		return Layout{}, err
	}
	return Formula(ftt, gmdr), nil
}

// Formula computes a layout without judging it; New is the judge.
func Formula(ftt, gmdr int) Layout {
	l := Layout{FTT: ftt, GMDR: gmdr, Diskful: ftt + gmdr + 1, QuorumMinimumRedundancy: gmdr + 1}
	l.Quorum = majority(l.Diskful)
	if l.Diskful%2 == 0 && ftt == l.Diskful/2 {
		l.TieBreakers = 1
	}
	return l
}

// Replicas is the number of replicas, and so of nodes, that a volume needs.
func (l Layout) Replicas() int { return l.Diskful + l.TieBreakers }

// FormationQuorum is the quorum to set while so many voters are members: never less than the finished layout
// asks for, so that a part of a forming volume cannot serve alone.
func (l Layout) FormationQuorum(voters int) int {
	return max(majority(voters), l.Quorum)
}

func majority(voters int) int { return voters/2 + 1 }
