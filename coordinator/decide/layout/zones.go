package layout

// MostPerZone is how many Diskful replicas one zone may hold so that its loss leaves what the layout promises:
// GMDR + 1 copies and quorum, or, with FTT = 0, at least one copy.
// A zone that takes the deciding tie-breaker down with it may hold fewer.
func (l Layout) MostPerZone(withTieBreaker bool) int {
	if l.FTT == 0 {
		return l.Diskful - 1
	}
	votes := l.Diskful
	tieBreakerVotes := l.Diskful%2 == 0 && (l.Arbiter || l.TieBreakers > 0 && !withTieBreaker)
	if tieBreakerVotes {
		votes++
	}
	return max(0, min(votes-l.Quorum, l.Diskful-l.QuorumMinimumRedundancy))
}

// LeastZones is the smallest number of zones that can hold the layout TransZonal, each with as many nodes as needed.
func (l Layout) LeastZones() int {
	most, withTB := l.MostPerZone(false), l.MostPerZone(true)
	if most < 1 {
		return 0
	}
	if l.TieBreakers == 0 {
		return ceilDiv(l.Diskful, most)
	}
	return 1 + ceilDiv(l.Diskful-withTB, most)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
