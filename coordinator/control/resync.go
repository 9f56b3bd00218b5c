package control

import (
	"fmt"
	"sync"
	"time"

	"rvol/coordinator/decide/resync"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Resync tells of copies that are being filled and do not get on. It remembers how far each
// was when it was last looked at.
type Resync struct {
	mu   sync.Mutex
	seen map[string]map[string]string // by volume and copy: how far it was
}

// NewResync returns one that has seen nothing yet.
func NewResync() *Resync { return &Resync{seen: map[string]map[string]string{}} }

// Name is the controller's name.
func (*Resync) Name() string { return "resync" }

// Affected names none: only what agents report matters.
func (*Resync) Affected(model.Key, state.View) []string { return nil }

// AffectedBy names the volumes with a replica on the node.
func (*Resync) AffectedBy(node string, v state.View) []string { return volumesOn(v, node) }

// All lists all volumes.
func (*Resync) All(v state.View) []string { return names[*model.VolumeStatus](v) }

// lookPeriod is how often a copy that is being filled is looked at: one that is stuck reports nothing.
const lookPeriod = time.Minute

// Decide compares how far each copy is with how far it was.
func (c *Resync) Decide(w World, key string) (Outcome, error) {
	vs, ok := state.Get[*model.VolumeStatus](w.State, key)
	if !ok {
		c.follow(w, key, nil)
		return Outcome{}, nil
	}
	copies := filling(w, vs)
	c.follow(w, key, copies)
	list := make([]resync.Copy, 0, len(copies))
	for _, f := range copies {
		list = append(list, f.Copy)
	}
	reason, message := resync.Judge(list)
	out := Outcome{Txn: tell(w, c, vs, model.Condition{Type: resync.Stuck, Reason: reason, Message: message})}
	if len(copies) > 0 {
		out.Again = lookPeriod
	}
	return out, nil
}

// a fill is a copy that is being filled, and how far it is.
type fill struct {
	resync.Copy

	key, at string
}

// filling are the devices of a volume whose resyncs are to be followed, as their own nodes say.
func filling(w World, vs *model.VolumeStatus) []fill {
	var out []fill
	for r := range state.Under[*model.Replica](w.State, vs.Name+"/") {
		seen := w.Inventory.Node(r.Node)
		name := model.ResourceName(r.Volume)
		res, up := seen.Resource(name)
		if !up || !seen.Known() || blind(seen) != "" {
			continue
		}
		for _, p := range res.Peers {
			for _, d := range p.Devices {
				if resync.Follows(d.Replication, d.OutOfSync) {
					out = append(out, fill{
						Copy: resync.Copy{Replica: r.Name, Node: r.Node, Resource: name, Device: d.Number, State: d.Replication, Percent: d.DonePercent},
						key:  fmt.Sprintf("%s %d %d", r.UID, p.NodeID, d.Number), at: fmt.Sprintf("%d %.2f", d.OutOfSync, d.DonePercent),
					})
				}
			}
		}
	}
	return out
}

// follow keeps the clocks of those that have not moved, and ends those of the others.
func (c *Resync) follow(w World, volume string, copies []fill) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, is := c.seen[volume], map[string]string{}
	for i := range copies {
		f := &copies[i]
		is[f.key] = f.at
		f.Still = w.Held(f.key, was[f.key] == f.at)
	}
	for key := range was {
		if _, still := is[key]; !still {
			w.Held(key, false)
		}
	}
	c.seen[volume] = is
	if len(is) == 0 {
		delete(c.seen, volume)
	}
}
