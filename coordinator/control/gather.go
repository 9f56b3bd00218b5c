package control

import (
	"iter"

	"rvol/coordinator/decide/allocation"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// names lists the names of all objects of one kind.
func names[T model.Object](v state.View) []string {
	return namesOf(state.All[T](v))
}

// namesOf lists the names of the objects of a sequence.
func namesOf[T model.Object](seq iter.Seq[T]) []string {
	var out []string
	for o := range seq {
		out = append(out, o.Info().Name)
	}
	return out
}

// volumesOn lists the volumes with a replica on a node.
func volumesOn(v state.View, node string) []string {
	var out []string
	for r := range v.ReplicasOn(node) {
		out = append(out, r.Volume)
	}
	return out
}

// ledger is a capacity record in the words of package allocation.
func ledger(c *model.Capacity) allocation.Pool {
	p := allocation.Pool{
		Name: c.Name, ExtentSize: c.ExtentSize, Extents: c.Extents, ForeignExtents: c.ForeignExtents,
		Thin: c.ThinPoolName != "", Size: c.Extents * c.ExtentSize, Percent: int64(c.Percent),
	}
	switch {
	case c.Missing:
		p.Stopped = allocation.PoolLost
	case c.GrowthStopped != "":
		p.Stopped = allocation.GrowthStopped
	}
	return p
}
