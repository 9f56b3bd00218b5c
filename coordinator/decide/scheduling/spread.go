package scheduling

import (
	"cmp"
	"fmt"
	"strings"

	"rvol/coordinator/decide/layout"
)

// maxEffort bounds the search for one layout: how many zones are looked at in all.
const maxEffort = 4_000_000

// A spread is how many of the replicas without a node each zone gets.
type spread []zoneLoad

// spreadOver finds the best numbers per zone; nil: there are none, and why.
func (f *field) spreadOver(t layout.Topology) (spread, string) {
	switch t {
	case layout.Zonal:
		return f.spreadZonal()
	case layout.TransZonal:
		return f.spreadTransZonal()
	case layout.Ignored:
	}
	// Without zones the rules fail only where there is no place at all.
	return nil, f.lacks("")
}

// spreadZonal finds the zone that holds everything with the best scores.
func (f *field) spreadZonal() (spread, string) {
	var most zoneLoad // where a part of the volume is, there the rest must be
	for i := range f.zones {
		if f.zones[i].holds.compareHeld(most) > 0 {
			most = f.zones[i].holds
		}
	}
	best, bestScore := -1, int64(0)
	for i := range f.zones {
		z := &f.zones[i]
		if z.holds.compareHeld(most) < 0 || z.fits < len(f.diskful) || z.free < len(f.diskful)+len(f.tieBreakers) {
			continue
		}
		if score := z.scoreOf(len(f.diskful)); best < 0 || score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return nil, f.lacks(" in any one zone")
	}
	all := make(spread, len(f.zones))
	all[best] = zoneLoad{diskful: len(f.diskful), tieBreakers: len(f.tieBreakers)}
	return all, ""
}

func (z zoneLoad) compareHeld(other zoneLoad) int {
	return cmp.Or(cmp.Compare(z.diskful, other.diskful), cmp.Compare(z.tieBreakers, other.tieBreakers))
}

func (z *zoneField) scoreOf(diskful int) (sum int64) {
	for _, c := range z.fit[:diskful] {
		sum += c.score
	}
	return sum
}

// spreadTransZonal tries the tie-breakers in all zones and pours the Diskful over what that leaves.
func (f *field) spreadTransZonal() (spread, string) {
	none := make(spread, len(f.zones))
	if f.pour(none) == nil {
		return nil, f.lacks(" so that the loss of any one zone is survived")
	}
	var best *trial
	effort := 0
	f.eachTieBreakers(none, 0, len(f.tieBreakers), func(tieBreakers spread) bool {
		if t := f.pour(tieBreakers); t != nil && (best == nil || t.compare(best) < 0) {
			best = t
		}
		effort += len(f.zones) * (len(f.diskful) + 1)
		return effort < maxEffort
	})
	if best != nil {
		return best.spread, ""
	}
	if effort >= maxEffort {
		return nil, fmt.Sprintf("gave up among %d zones", len(f.zones))
	}
	return nil, f.lacks(" so that the loss of any one zone is survived")
}

// eachTieBreakers calls try with every way to spread n tie-breakers over the zones from first on, until it says stop.
func (f *field) eachTieBreakers(all spread, first, n int, try func(spread) bool) bool {
	if n == 0 {
		return try(all)
	}
	for z := first; z < len(all); z++ {
		if all[z].tieBreakers >= f.zones[z].free {
			continue
		}
		all[z].tieBreakers++
		goOn := f.eachTieBreakers(all, z, n-1, try)
		all[z].tieBreakers--
		if !goOn {
			return false
		}
	}
	return true
}

// A trial is one spread, and how good it is.
type trial struct {
	spread  spread
	uneven  int   // sum of the squares of Diskful per zone
	crowded int   // voters in the zones of the tie-breakers
	score   int64 // of the chosen nodes
}

func (t *trial) compare(other *trial) int {
	return cmp.Or(cmp.Compare(t.uneven, other.uneven), cmp.Compare(t.crowded, other.crowded), -cmp.Compare(t.score, other.score))
}

// pour gives Diskful after Diskful to the zone with the fewest that can take one more; nil: they do not all fit.
// Zones do not depend on each other once the tie-breakers stand, so this finds a place whenever there is one.
func (f *field) pour(tieBreakers spread) *trial {
	all := append(spread(nil), tieBreakers...)
	t := &trial{spread: all}
	for z := range all {
		if all[z].tieBreakers > 0 && f.zones[z].holds.diskful > f.mostIn(z, all) {
			return nil
		}
	}
	for range f.diskful {
		best := -1
		for z := range all {
			if f.takesOneMore(z, all) && (best < 0 || f.comparePour(z, best, all) < 0) {
				best = z
			}
		}
		if best < 0 {
			return nil
		}
		t.score += f.zones[best].fit[all[best].diskful].score
		all[best].diskful++
	}
	for z := range all {
		diskful := f.zones[z].holds.diskful + all[z].diskful
		t.uneven += diskful * diskful
		if all[z].tieBreakers > 0 {
			t.crowded += diskful + f.zones[z].holds.tieBreakers + all[z].tieBreakers
		}
	}
	return t
}

// mostIn is how many Diskful a zone may hold beside the tie-breakers of a spread.
func (f *field) mostIn(z int, all spread) int {
	lost := f.zones[z].holds.tieBreakers + all[z].tieBreakers
	return f.layout.MostPerZone(2*(f.layout.TieBreakers-lost) <= f.layout.TieBreakers)
}

func (f *field) takesOneMore(z int, all spread) bool {
	zone, more := &f.zones[z], all[z].diskful+1
	return more <= zone.fits && more+all[z].tieBreakers <= zone.free && zone.holds.diskful+more <= f.mostIn(z, all)
}

func (f *field) comparePour(a, b int, all spread) int {
	load := func(z int) int { return f.zones[z].holds.diskful + all[z].diskful }
	score := func(z int) int64 { return f.zones[z].fit[all[z].diskful].score }
	return cmp.Or(cmp.Compare(load(a), load(b)), -cmp.Compare(score(a), score(b)))
}

// assign gives the replicas nodes of the zones of a spread: the best to the first Diskful, then the TieBreakers.
func (f *field) assign(all spread) []assignment {
	assigned := f.assigned
	var picks []choice
	var spares []int
	for z, get := range all {
		chosen := f.zones[z].fit[:get.diskful]
		picks = append(picks, chosen...)
		spares = append(spares, f.zones[z].sparesBeside(chosen, get.tieBreakers)...)
	}
	for i, replica := range f.diskful {
		assigned = append(assigned, assignment{replica: replica, choice: picks[i]})
	}
	for i, replica := range f.tieBreakers {
		assigned = append(assigned, assignment{replica: replica, choice: choice{node: spares[i], place: noPlace}})
	}
	return assigned
}

// sparesBeside is the first n nodes without a replica that were not chosen.
func (z *zoneField) sparesBeside(chosen []choice, n int) []int {
	var spares []int
	for _, node := range z.spare {
		if len(spares) < n && !contains(chosen, node) {
			spares = append(spares, node)
		}
	}
	return spares
}

func contains(choices []choice, node int) bool {
	for _, c := range choices {
		if c.node == node {
			return true
		}
	}
	return false
}

// maxZonesTold bounds how many zones a sentence tells of.
const maxZonesTold = 8

// lacks tells what does not fit, and what the zones have.
func (f *field) lacks(how string) string {
	var parts []string
	for i := range f.zones {
		if i == maxZonesTold {
			parts = append(parts, fmt.Sprintf("and %d more zones", len(f.zones)-i))
			break
		}
		z := &f.zones[i]
		parts = append(parts, fmt.Sprintf("zone %q has %d free nodes, %d with room, and holds %d Diskful",
			f.Candidates.zones[i], z.free, z.fits, z.holds.diskful))
	}
	return fmt.Sprintf("%d more Diskful and %d more TieBreakers do not fit%s: %s",
		len(f.diskful), len(f.tieBreakers), how, strings.Join(parts, "; "))
}
