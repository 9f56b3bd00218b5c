package decide

import (
	"slices"
	"strconv"

	"rvol/drbd"
)

// Allowed is what an adjust may take away, because the order no longer holds it.
type Allowed struct {
	Peers  []drbd.NodeID // that stay
	Minors []drbd.Minor  // whose devices stay
	Disks  []drbd.Minor  // whose disks stay
	Sizes  map[drbd.Minor]int64
}

// allowed is what the order leaves of the resource that is up.
func (r Resource) allowed(up drbd.Resource) Allowed {
	a := Allowed{Sizes: map[drbd.Minor]int64{}}
	if r.Member {
		for _, p := range r.Peers {
			a.Peers = append(a.Peers, p.ID)
		}
	}
	for _, d := range r.Devices {
		a.Minors = append(a.Minors, d.Minor)
		if d.Backing != nil && r.attaches() {
			a.Disks = append(a.Disks, d.Minor)
		}
	}
	for _, d := range up.Devices {
		a.Sizes[d.Minor] = d.Size
	}
	return a
}

// Check reads what an adjust would run and refuses a loss that the order did
// not ask for.
func (a Allowed) Check(resource string, commands []drbd.Command) *Refusal {
	for _, c := range commands {
		loss := c.Loss(a.Sizes)
		if loss == "" || a.covers(c) {
			continue
		}
		return refuseForGood(Refused, "adjust of %s would run %q, which %s; the order does not say so: compare the file with `drbdsetup show %s`",
			resource, c, loss, resource)
	}
	return nil
}

// covers says that the order no longer holds what the command takes away.
func (a Allowed) covers(c drbd.Command) bool {
	n, ok := lastNumber(c.Args)
	switch {
	case !ok:
		return false
	case c.Verb == "del-peer":
		return !slices.Contains(a.Peers, drbd.NodeID(n))
	case c.Verb == "detach":
		return !slices.Contains(a.Disks, drbd.Minor(n))
	case c.Verb == "del-minor":
		return !slices.Contains(a.Minors, drbd.Minor(n))
	}
	return false
}

// lastNumber is the peer of "del-peer RESOURCE NODE-ID" and the minor of
// "detach MINOR", with options behind them or not.
func lastNumber(args []string) (int, bool) {
	for _, arg := range slices.Backward(args) {
		if n, err := strconv.Atoi(arg); err == nil {
			return n, true
		}
	}
	return 0, false
}
