package drbd

import "maps"

// A Pair is one volume of a resource, and a peer.
type Pair struct {
	Peer   NodeID
	Volume int
}

// Past is what no state of a Pair tells any more.
type Past struct {
	Verified  int   // verifies that came to their end
	BrokenOff int   // verifies that did not
	OutOfSync int64 // bytes, when that was told last: of a connection that is gone, too
}

// Past tells of the pairs of a resource what happened since the Table was made.
func (t *Table) Past(resource string) map[Pair]Past { return maps.Clone(t.past[resource]) }

// comparing are the pairs of a resource that are being verified.
func (r *Resource) comparing() []Pair {
	var pairs []Pair
	for _, p := range r.Peers {
		for _, d := range p.Devices {
			if d.Repl.Comparing() {
				pairs = append(pairs, Pair{p.NodeID, d.Volume})
			}
		}
	}
	return pairs
}

// remember notes which of the verifies that ran before have ended, and how. One that came
// to its end leaves the pair Established.
func (t *Table) remember(r *Resource, ran []Pair) {
	past := t.past[r.Name]
	if past == nil {
		past = map[Pair]Past{}
		t.past[r.Name] = past
	}
	for _, pair := range ran {
		p, _ := r.Peer(pair.Peer)
		d, _ := p.Device(pair.Volume)
		c := past[pair]
		switch {
		case d.Repl.Comparing():
		case d.Repl == Established:
			c.Verified++
		default:
			c.BrokenOff++
		}
		past[pair] = c
	}
	for _, p := range r.Peers {
		for _, d := range p.Devices {
			c := past[Pair{p.NodeID, d.Volume}]
			c.OutOfSync = d.OutOfSync
			past[Pair{p.NodeID, d.Volume}] = c
		}
	}
}
