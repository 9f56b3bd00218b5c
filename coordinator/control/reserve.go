package control

import (
	"fmt"
	"time"

	"rvol/coordinator/decide/allocation"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Claim is space that an owner asks of one place.
type Claim struct {
	Node, VG, ThinPool string
	Device             int    // which of the owner's
	Copy               int    // which copy of it, where there are several
	LV                 string // name that its logical volume will have; empty: it will have none
	Bytes              int64  // rounded up to whole extents
}

// Owner is what space is charged to that is not a replica.
type Owner struct {
	Kind, Name string
}

// Reservation is the name of the reservation for one copy of one of the owner's devices:
// asked for twice, it is refused the second time.
func (o Owner) Reservation(device, nth int) string {
	return fmt.Sprintf("%s.%s.%d.%d", o.Kind, o.Name, device, nth)
}

// Reserve adds the reservations of one owner to a transaction: all claims are granted, or
// none. Snapshots, images and holds are charged by the same rules as replicas.
func Reserve(v state.View, b *state.Build, now time.Time, owner Owner, claims ...Claim) error {
	for _, c := range claims {
		if c.Bytes <= 0 {
			return fmt.Errorf("%w: %s %s: %d bytes of %s: want more than 0", model.ErrInvalid, owner.Kind, owner.Name, c.Bytes, model.LVGName(c.Node, c.VG))
		}
		lvg, pool, capacity, err := poolOf(v, c.Node, c.VG, c.ThinPool)
		if err != nil {
			return err
		}
		if lvg.Unschedulable {
			return fmt.Errorf("%w: LVG %s is cordoned: nothing may grow there", model.ErrNoSpace, lvg.Name)
		}
		r := &model.Reservation{
			OwnerKind: owner.Kind, Owner: owner.Name, Device: c.Device, Pool: pool, VGName: c.VG, ThinPool: c.ThinPool, LV: c.LV,
			Granted: allocation.RoundUp(c.Bytes, capacity.ExtentSize), State: model.Reserved,
		}
		r.Name, r.CreatedAt = owner.Reservation(c.Device, c.Copy), now
		b.Expect(lvg.Key(), lvg.Revision) // a cordon that came in between is honoured
		b.Put(r)
	}
	return nil
}
