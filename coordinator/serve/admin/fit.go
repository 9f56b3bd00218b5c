package admin

import (
	"fmt"
	"strings"

	"rvol/coordinator/decide/allocation"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// couldFit refuses a volume that no pool of its class could ever hold, however empty: it
// would wait for ever. A class without eligible nodes, and a pool whose size is not known
// yet, are given the benefit of the doubt.
func couldFit(v state.View, vol *model.Volume, class *model.Class) error {
	cs, ok := state.Get[*model.ClassStatus](v, class.Name)
	if !ok || cs.Configuration == nil {
		return nil
	}
	ps, ok := state.Get[*model.PoolStatus](v, cs.Configuration.Pool)
	if !ok {
		return nil
	}
	lacks := shortage{}
	for _, n := range ps.EligibleNodes {
		if lacks.onNode(v, n, vol) {
			return nil // nodes may be added for the other copies
		}
	}
	if len(lacks.pools) == 0 {
		return nil
	}
	return &door.Refused{
		Kind: model.ErrNoSpace, Object: vol.Key().String(),
		Reason: fmt.Sprintf("%s is more than any pool of class %s can ever hold: %s", size(vol.Size()), class.Name, strings.Join(lacks.pools, "; ")),
		Next:   "make it smaller, or offer a larger volume group with `rvol lvg create`",
		Asked:  lacks.asked, Available: lacks.largest,
	}
}

// shortage gathers the pools that are too small.
type shortage struct {
	pools   []string
	asked   int64 // by the least demanding pool
	largest int64 // limit of the largest pool
}

// onNode says whether any pool of a node could hold a copy.
func (s *shortage) onNode(v state.View, n model.EligibleNode, vol *model.Volume) bool {
	could := false
	for _, l := range n.LVGs {
		c, ok := state.Get[*model.Capacity](v, l.Pool.String())
		if !ok {
			could = true
			continue
		}
		need, limit := copySize(vol, n.DRBD, c.ExtentSize), c.Limit()
		if need <= limit {
			could = true
			continue
		}
		name := model.LVGName(n.Node, l.VG)
		if l.ThinPool != "" {
			name += "/" + l.ThinPool
		}
		s.pools = append(s.pools, fmt.Sprintf("%s holds %s at most and lacks %s", name, size(limit), size(need-limit)))
		s.largest = max(s.largest, limit)
		if s.asked == 0 || need < s.asked {
			s.asked = need
		}
	}
	return could
}

// copySize is what one copy of a volume takes of a pool, DRBD's metadata included.
func copySize(vol *model.Volume, major string, extent int64) int64 {
	peers := drbd.MaxPeers
	if major == "8.4" {
		peers = 1
	}
	var n int64
	for _, d := range vol.Devices {
		n = allocation.Sum(n, allocation.RoundUp(drbd.BackingSize(d.Size, peers), extent))
	}
	return n
}
