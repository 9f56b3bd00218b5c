package control

import (
	"fmt"
	"time"

	"rvol/coordinator/decide/compare"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Restored is the change that makes a saved state one to go on from: who takes part, and
// who may, is as it is at present; what was decided is as it was. It begins a new
// incarnation, so that agents take its older orders, in which nothing is removed.
func Restored(present, saved state.View, actor string, now time.Time) (state.Txn, error) {
	var none state.Txn
	is, ok := state.Get[*model.Cluster](present, model.ClusterName)
	was, had := state.Get[*model.Cluster](saved, model.ClusterName)
	switch {
	case !ok:
		return none, fmt.Errorf("%w: this cluster has no state yet", model.ErrUnavailable)
	case !had || was.ID != is.ID:
		return none, fmt.Errorf("%w: the snapshot is of another cluster, %s", model.ErrInvalid, idOf(was))
	}
	b := state.NewTxn(actor, fmt.Sprintf("restore the state of index %d", saved.Index()))
	next := model.Clone(is)
	next.Format = was.Format // what this binary writes is raised by the leader
	begin(next, max(is.Incarnation, was.Incarnation)+1, fmt.Sprintf("restored by %s at %s from a snapshot of index %d, taken at %s",
		actor, stamp(now), saved.Index(), stamp(saved.Time())))
	b.PutAnyway(next)
	asPresent[*model.Member](present, saved, b)
	asPresent[*model.Identity](present, saved, b)
	for t := range state.All[*model.Token](saved) {
		b.Delete(t) // it may have been used since
	}
	for n := range state.All[*model.Node](present) {
		if _, known := state.Get[*model.Node](saved, n.Name); !known {
			b.PutAnyway(n) // it joined since, and holds what is to be asked for
		}
		if st, ok := state.Get[*model.NodeStatus](present, n.Name); ok {
			b.PutAnyway(st)
		}
	}
	return b.Txn()
}

// Recovered is the change that leaves one member of a cluster whose majority is lost. The
// others can only come back by joining anew.
func Recovered(v state.View, name string, now time.Time) (state.Txn, error) {
	c, ok := state.Get[*model.Cluster](v, model.ClusterName)
	if !ok {
		return state.Txn{}, fmt.Errorf("%w: there is no cluster in it", model.ErrNotFound)
	}
	b := state.NewTxn("coordinator/"+name, "recover: "+name+" goes on alone")
	next := model.Clone(c)
	begin(next, c.Incarnation+1, fmt.Sprintf("recovered from coordinator %s at %s, at index %d", name, stamp(now), v.Index()))
	b.PutAnyway(next)
	for m := range state.All[*model.Member](v) {
		if m.Name != name {
			b.Delete(m)
		}
	}
	for i := range state.All[*model.Identity](v) {
		if i.Kind == "server" && i.Subject != name {
			b.Delete(i)
		}
	}
	return b.Txn()
}

func begin(c *model.Cluster, incarnation uint64, how string) {
	c.Incarnation, c.Reconciling, c.Restored, c.SetAside = incarnation, true, how, nil
}

// asPresent makes all objects of a kind in saved what they are in present.
func asPresent[T model.Object](present, saved state.View, b *state.Build) {
	for o := range state.All[T](saved) {
		if _, still := present.Object(o.Key()); !still {
			b.Delete(o)
		}
	}
	for o := range state.All[T](present) {
		b.PutAnyway(o)
	}
}

func idOf(c *model.Cluster) string {
	if c == nil {
		return "of which it does not say the name"
	}
	return c.ID
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

// Accepted is the change that ends reconciling, with the differences that were seen: what
// is in use stays so, numbers go on from the highest in use, and what the state would
// make anew over data that is there is forgotten, so that it can be adopted.
func Accepted(v state.View, b *state.Build, found []compare.Difference, now time.Time) error {
	c, ok := state.Get[*model.Cluster](v, model.ClusterName)
	if !ok {
		return fmt.Errorf("%w: this cluster has no state yet", model.ErrUnavailable)
	}
	next := model.Clone(c)
	next.Reconciling, next.SetAside = false, nil
	b.Because(fmt.Sprintf("accept the state %s, with %d differences", c.Restored, len(found))).Put(next)
	forgotten := map[string]bool{}
	for _, d := range found {
		if d.Kind == compare.Formed && !forgotten[d.Volume] {
			forgotten[d.Volume] = true
			forgetVolume(v, d.Volume, b)
		}
	}
	for volume, revision := range highest(found) {
		if vs, ok := state.Get[*model.VolumeStatus](v, volume); ok && !forgotten[volume] {
			next := model.Clone(vs)
			next.Datamesh.Revision = revision + 1 // which nobody runs yet: everybody confirms it
			b.Put(next)
		}
	}
	for _, d := range found {
		if d.Kind == compare.InUse && !forgotten[d.Volume] {
			b.Put(inUse(v, d, now))
		}
	}
	return nil
}

// highest is the newest revision that anybody runs of each volume that went on.
func highest(found []compare.Difference) map[string]int64 {
	ahead := map[string]int64{}
	for _, d := range found {
		if d.Kind == compare.Ahead {
			ahead[d.Volume] = max(ahead[d.Volume], d.Revision)
		}
	}
	return ahead
}

// inUse is the attachment of a volume that is Primary already.
func inUse(v state.View, d compare.Difference, now time.Time) *model.Attachment {
	a := &model.Attachment{Volume: d.Volume, Node: d.Node}
	a.Name, a.CreatedAt = model.AttachmentName(d.Volume, d.Node), now
	if old, ok := state.Get[*model.Attachment](v, a.Name); ok {
		a = model.Clone(old)
		a.DeletingSince = time.Time{}
	}
	a.Granted, a.Reason, a.Message = true, "", ""
	return a
}

// forgetVolume takes the records of a volume away, and nothing else.
func forgetVolume(v state.View, volume string, b *state.Build) {
	drop := func(k model.Kind, name string) {
		if o, ok := v.Object(model.Key{Kind: k, Name: name}); ok {
			b.Delete(o)
		}
	}
	for r := range v.ReservationsOfVolume(volume) {
		b.Delete(r)
	}
	for r := range state.Under[*model.Replica](v, volume+"/") {
		b.Delete(r)
	}
	for a := range state.Under[*model.Attachment](v, volume+"/") {
		b.Delete(a)
	}
	for op := range state.Under[*model.Operation](v, volume+"-") {
		if op.Volume == volume {
			b.Delete(op)
		}
	}
	drop(model.KindVolume, volume)
	drop(model.KindVolumeStatus, volume)
	drop(model.KindSecret, model.VolumeSecret(volume))
}

// Comparison gathers what package compare looks at.
func Comparison(v state.View, seen inventory.View) compare.Input {
	var in compare.Input
	in.Cluster, _ = state.Get[*model.Cluster](v, model.ClusterName)
	if in.Cluster == nil {
		in.Cluster = &model.Cluster{}
	}
	for n := range state.All[*model.Node](v) {
		in.Nodes = append(in.Nodes, compare.Node{Name: n.Name, Seen: seen.Node(n.Name)})
	}
	for vol := range state.All[*model.Volume](v) {
		c := compare.Volume{Volume: vol}
		c.Status, _ = state.Get[*model.VolumeStatus](v, vol.Name)
		for r := range state.Under[*model.Replica](v, vol.Name+"/") {
			c.Replicas = append(c.Replicas, r)
		}
		for a := range state.Under[*model.Attachment](v, vol.Name+"/") {
			c.Attachments = append(c.Attachments, a)
		}
		in.Volumes = append(in.Volumes, c)
	}
	for r := range state.All[*model.Reservation](v) {
		in.Reservations = append(in.Reservations, r)
	}
	return in
}

// WithoutMember is the change that takes the record and the keys of a coordinator away.
func WithoutMember(v state.View, m *model.Member, b *state.Build) *state.Build {
	for i := range state.All[*model.Identity](v) {
		if i.Kind == "server" && i.Subject == m.Name {
			b.Delete(i)
		}
	}
	return b.Because("remove coordinator " + m.Name).Delete(m)
}
