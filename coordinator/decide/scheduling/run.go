package scheduling

import (
	"cmp"
	"slices"
	"strconv"

	"rvol/coordinator/decide/layout"
)

// What the condition says.
const (
	saysScheduled            = "Replica scheduled successfully"
	saysVolumeMissing        = "ReplicatedVolume not found; waiting for it to be present"
	saysConfigurationMissing = "ReplicatedVolume has no configuration yet; waiting for it to appear"
	saysPoolMissing          = "ReplicatedStoragePool not found; waiting for it to be present"
)

// Run places every replica of the volume that has no place yet, in one pass.
func Run(in Input) Result {
	placements := make([]Placement, len(in.Replicas))
	for i, r := range in.Replicas {
		placements[i] = Placement{ID: r.ID, Type: r.Type, Place: r.Place}
	}
	var result Result
	if says := in.Missing.says(); says != "" {
		for i := range placements {
			placements[i].set(Unknown, ReasonWaiting, says)
		}
	} else {
		r := newRun(&in, placements)
		r.settle()
		unplaced := r.placeAll()
		if in.Mode == Live && len(unplaced) > 0 {
			result.Search = r.search(unplaced)
		}
	}
	slices.SortStableFunc(placements, func(a, b Placement) int { return cmp.Compare(a.ID, b.ID) })
	result.Replicas = placements
	return result
}

func (m Missing) says() string {
	switch m {
	case VolumeMissing:
		return saysVolumeMissing
	case ConfigurationMissing:
		return saysConfigurationMissing
	case PoolMissing:
		return saysPoolMissing
	case NothingMissing:
	}
	return ""
}

func (p *Placement) set(status Status, reason, message string) {
	p.Scheduled, p.Reason, p.Message = status, reason, message
}

// A run is the placing of one volume's replicas: what each later replica must see of the earlier ones.
type run struct {
	*Candidates
	in         *Input
	placements []Placement // of in.Replicas

	occupied []int      // nodes that hold a replica of the volume
	wanted   []int      // nodes somebody wants the volume on, sorted
	load     []zoneLoad // of zones
	complete int        // Diskful replicas that have their place

	marking   verdict   // the rule that marks now
	outNodes  []verdict // what it and the others excluded for the replica at hand
	outZones  []verdict
	outPlaces []verdict // nil: no place by itself
	rated     []uint8   // what no capacity score on each node exceeds, or nothing; nil: nobody will ask
}

const (
	nothing   = 0 // the rating of a node on which no candidate survived
	unbounded = 255
)

func newRun(in *Input, placements []Placement) *run {
	r := &run{Candidates: in.Candidates, in: in, placements: placements}
	if r.Candidates == nil {
		r.Candidates = Prepare(nil)
	}
	r.load = make([]zoneLoad, len(r.zones))
	r.outNodes = make([]verdict, len(r.nodes))
	r.outZones = make([]verdict, len(r.zones))
	if in.Explain > 0 {
		r.rated = make([]uint8, len(r.nodes))
	}
	for _, name := range in.AttachTo {
		first, last := r.find(name)
		for i := first; i < last; i++ {
			r.wanted = append(r.wanted, i)
		}
	}
	slices.Sort(r.wanted)
	for _, replica := range in.Replicas {
		r.occupy(replica)
	}
	return r
}

// occupy takes note of the node that a replica has.
func (r *run) occupy(replica Replica) {
	if replica.Place.Node == "" {
		return
	}
	first, last := r.find(replica.Place.Node)
	for i := first; i < last; i++ {
		r.occupied = append(r.occupied, i)
	}
	if first == last || replica.Leaving {
		return
	}
	switch load := &r.load[r.nodes[first].zone]; replica.Type {
	case Diskful:
		load.diskful++
	case TieBreaker:
		load.tieBreakers++
	case Access:
	}
}

// settle says of the replicas that need no place what there is to say.
func (r *run) settle() {
	for i, replica := range r.in.Replicas {
		switch {
		case replica.Type == Access:
			r.placements[i].set(Absent, "", "")
		case replica.complete(r.in.Thin):
			r.placements[i].set(True, ReasonScheduled, saysScheduled)
			if replica.Type == Diskful && !replica.Leaving {
				r.complete++
			}
		}
	}
}

// placeAll places all Diskful, then all TieBreakers, and returns those that found no place.
func (r *run) placeAll() (unplaced []int) {
	for _, phase := range []ReplicaType{Diskful, TieBreaker} {
		for _, i := range r.waiting(phase) {
			if !r.place(i) {
				unplaced = append(unplaced, i)
			}
		}
	}
	return unplaced
}

// waiting is the replicas of a type that are to be placed, in the order in which they are.
func (r *run) waiting(phase ReplicaType) []int {
	var waiting []int
	for i, replica := range r.in.Replicas {
		if replica.Type == phase && !replica.complete(r.in.Thin) && (!replica.Deleting || r.in.Mode != Live) {
			waiting = append(waiting, i)
		}
	}
	slices.SortStableFunc(waiting, func(a, b int) int { return r.order(r.in.Replicas[a], r.in.Replicas[b]) })
	return waiting
}

func (r *run) order(a, b Replica) int {
	if r.in.Mode == Live {
		return cmp.Compare(a.ID, b.ID)
	}
	if a.Deleting != b.Deleting {
		if b.Deleting {
			return -1
		}
		return 1
	}
	// Names end in the id, and names are compared as text: vol-10 comes before vol-2.
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(strconv.Itoa(a.ID), strconv.Itoa(b.ID)))
}

// place runs the rules for one replica; false: there is no place.
func (r *run) place(i int) bool {
	s := r.newStep(i)
	best := s.pick()
	p := &r.placements[i]
	p.Diagnosis = s.diagnose(best)
	if best == nil {
		p.set(False, s.failure(), p.Diagnosis.message())
		return false
	}
	r.take(i, r.placeOf(*best))
	return true
}

// take gives a replica its place, for those that come after it to see.
func (r *run) take(i int, at Place) {
	replica := r.in.Replicas[i]
	if replica.Place.Node == "" {
		r.occupy(Replica{Type: replica.Type, Place: at})
	}
	if replica.Type == Diskful {
		r.complete++
	}
	p := &r.placements[i]
	p.Place, p.Chosen = at, true
	p.set(True, ReasonScheduled, saysScheduled)
}

// diskfulLeft is how many Diskful replicas of the layout still have no place.
func (r *run) diskfulLeft() int { return r.in.Layout.Diskful - r.complete }

// voters is the layout that the volume is to have: that of its class, or more while replicas are added.
func (r *run) voters() layout.Layout {
	diskful, tieBreakers := 0, 0
	for _, replica := range r.in.Replicas {
		switch {
		case replica.Deleting || replica.Leaving:
		case replica.Type == Diskful:
			diskful++
		case replica.Type == TieBreaker:
			tieBreakers++
		}
	}
	l := r.in.Layout
	l.Diskful, l.TieBreakers = max(diskful, l.Diskful), max(tieBreakers, l.TieBreakers)
	l.Quorum = l.Diskful/2 + 1
	return l
}
