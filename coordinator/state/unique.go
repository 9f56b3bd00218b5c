package state

import (
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/model"
)

// checkUnique refuses an object that would take what another has: a node of its volume,
// a port, a minor, an LV. One replica per volume and id, and one attachment per volume
// and node, need no check: their names say both.
func checkUnique(d *draft) *model.Refusal {
	taken := map[string]model.Key{}
	for _, c := range d.changes {
		if c.after == nil {
			continue
		}
		for _, key := range indexKeys(c.after) {
			by, isTaken := taken[key]
			if !isTaken {
				by, isTaken = d.holder(key)
			}
			if isTaken {
				return refuse(model.ConstraintUnique, c.object, "%s", taking(key, by))
			}
			taken[key] = c.object
		}
	}
	return nil
}

// holder is who has the index key and is not changed by the transaction: what a changed
// object keeps or takes is among taken when its turn comes.
func (d *draft) holder(key string) (model.Key, bool) {
	o, ok := d.lookup.Get(key)
	if !ok {
		return model.Key{}, false
	}
	_, changed := d.byKey[o.Key().String()]
	return o.Key(), !changed
}

// taking says what an index key stands for.
func taking(key string, by model.Key) string {
	p := slices.Concat(strings.Split(key, separator), []string{"", "", ""})
	switch p[0] {
	case byNode:
		return fmt.Sprintf("volume %s has a replica on node %s already: %s", p[2], p[1], by)
	case byPort:
		return fmt.Sprintf("port %s on node %s belongs to %s", p[2], p[1], by)
	case byMinor:
		return fmt.Sprintf("minor %s on node %s belongs to %s", p[2], p[1], by)
	case byLV:
		return fmt.Sprintf("the logical volume %s on node %s belongs to %s", p[3], p[1], by)
	default:
		return fmt.Sprintf("%s stands in its place", by)
	}
}
