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
	Filled    int   // resyncs that this node was the target of, and that came to their end
	OutOfSync int64 // bytes, when that was told last: of a connection that is gone, too
}

// Past tells of the pairs of a resource what happened since the Table was made.
func (t *Table) Past(resource string) map[Pair]Past { return maps.Clone(t.past[resource]) }

// busy is what the pairs of a resource do that has an end of which nothing tells afterwards.
func (r *Resource) busy() map[Pair]ReplState {
	pairs := map[Pair]ReplState{}
	for _, p := range r.Peers {
		for _, d := range p.Devices {
			if d.Repl.Comparing() || d.Repl == SyncTarget || d.Repl == PausedSyncT {
				pairs[Pair{p.NodeID, d.Volume}] = d.Repl
			}
		}
	}
	return pairs
}

// remember notes what has ended of that which ran before, and how. What came to its end leaves the pair Established.
func (t *Table) remember(r *Resource, ran map[Pair]ReplState) {
	past := t.past[r.Name]
	if past == nil {
		past = map[Pair]Past{}
		t.past[r.Name] = past
	}
	now := r.busy()
	for pair, was := range ran {
		if _, goesOn := now[pair]; goesOn {
			continue
		}
		p, _ := r.Peer(pair.Peer)
		d, _ := p.Device(pair.Volume)
		c := past[pair]
		switch compared, ended := was.Comparing(), d.Repl == Established; {
		case compared && ended:
			c.Verified++
		case compared:
			c.BrokenOff++
		case ended:
			c.Filled++
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
