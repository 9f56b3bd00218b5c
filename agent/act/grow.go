package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rvol/agent/decide"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/lvm"
)

// growLV writes down from which size it grows the volume, grows it, and clears where
// DRBD would look for its metadata from now on: an earlier owner of those extents may
// have left some there. Only then it is written down as done, and told.
func (e *Engine) growLV(ctx context.Context, s decide.GrowLV) error {
	b := s.Backing
	name, ok := lvm.ParseName(s.LV.Name)
	if !ok {
		return fmt.Errorf("%q is no name of an LV of ours", s.LV.Name)
	}
	backend, err := e.backend(s.Cluster, b.VG, b.VGUUID, b.ThinPool)
	if err != nil {
		return err
	}
	fact, err := e.beginGrowth(s)
	if err != nil {
		return err
	}
	defer e.LVM.Fresh(ctx, b.VG, 0)
	id := storage.Identity{Name: name, UUID: s.LV.UUID, Tags: storage.Tags(s.Cluster, b.Reservation)}
	device, err := backend.Grow(ctx, id, roundUp(b.Size))
	if err != nil {
		return e.notGrown(b.Reservation, fact, s.LV, err)
	}
	if err := e.reached("grown: " + s.LV.Name); err != nil {
		return err
	}
	if device, err = backend.Activate(ctx, id); err != nil {
		return err
	}
	from := max(fact.Growing, drbd.UsableSize(device.Size, s.Peers))
	if from < device.Size {
		if err := e.Tool.ZeroRange(ctx, device.Path, from, device.Size-from); err != nil {
			return fmt.Errorf("clear the new end: %w", err)
		}
	}
	fact.Growing = 0
	if device.Size == fact.MetaAt {
		fact.MetaAt = 0
	}
	return e.Journal.Backing(b.Reservation, fact)
}

// beginGrowth writes down from which size the volume grows, unless a growth of it was
// begun before.
func (e *Engine) beginGrowth(s decide.GrowLV) (decide.BackingFact, error) {
	b := s.Backing
	fact := e.Journal.Facts().Backings[b.Reservation]
	if fact.Growing != 0 {
		return fact, nil
	}
	if fact.LV == "" { // it was there before this agent's journal: it may hold data
		fact = decide.BackingFact{VGUUID: b.VGUUID, LV: b.LV, LVUUID: s.LV.UUID, MetaMade: true}
	}
	fact.Growing = s.LV.Size
	if fact.MetaAt == 0 {
		fact.MetaAt = s.LV.Size
	}
	return fact, e.Journal.Backing(b.Reservation, fact)
}

// growingPeriod is how often a resource is looked at whose volumes have grown and whose
// devices have not: the kernel tells nobody when they do.
const growingPeriod = 2 * time.Second

// growing says that a resource's devices are about to follow its volumes. The engine is locked.
func (e *Engine) growing(name string) bool {
	r, ok := e.order.Resource(name)
	if !ok {
		return false
	}
	facts := e.Journal.Facts().Backings
	for _, d := range r.Devices {
		if d.Backing == nil {
			continue
		}
		if f := facts[d.Backing.Reservation]; f.Growing == 0 && f.MetaAt != 0 && d.Backing.Size > f.MetaAt {
			return true
		}
	}
	return false
}

// lookAtGrowth asks the kernel how large the devices of a growing resource are.
func (e *Engine) lookAtGrowth(ctx context.Context, name string) {
	e.mu.Lock()
	growing := e.growing(name)
	e.mu.Unlock()
	if !growing {
		return
	}
	if _, _, err := e.DRBD.Fresh(ctx, name); err != nil {
		e.Log.DebugContext(ctx, "size not known", "resource", name, "err", err)
	}
}

// notGrown forgets that a growth was begun that LVM has refused.
func (e *Engine) notGrown(reservation string, fact decide.BackingFact, was decide.LV, err error) error {
	if fact.Growing != was.Size || explain(refusedGrowth{}, err).Class != decide.NoSpace {
		return err
	}
	fact.Growing = 0
	if fact.MetaAt == was.Size {
		fact.MetaAt = 0
	}
	if failed := e.Journal.Backing(reservation, fact); failed != nil {
		return failed
	}
	return err
}

type refusedGrowth struct{}

func (refusedGrowth) String() string { return "grow" }

// doSize carries out what is about the size of DRBD's devices.
func (e *Engine) doSize(ctx context.Context, step decide.Step) error {
	tool := e.DRBD.Tool()
	switch s := step.(type) {
	case decide.Resize:
		resize := tool.Resize
		if s.Alone {
			resize = tool.ResizeAlone
		}
		if err := resize(ctx, s.Minor); err != nil {
			return err
		}
		e.moved(s.LV)
	case decide.HoldSize:
		return e.holdSize(ctx, s)
	case decide.RememberSize:
		if err := tool.RememberSize(ctx, s.Minor); err != nil {
			return err
		}
		return e.metadataAtEnd(s.Reservation)
	}
	return nil
}

// holdSize looks how large the device is just now: never is it made smaller. Should the peer be there again, nothing is left to be held.
func (e *Engine) holdSize(ctx context.Context, s decide.HoldSize) error {
	r, up, err := e.DRBD.Fresh(ctx, s.Resource)
	if err != nil || !up || decide.Connected(r) {
		return err
	}
	d, there := r.Device(s.Number)
	if !there || d.Minor != s.Minor {
		return nil
	}
	err = e.DRBD.Tool().HoldSize(ctx, s.Minor, d.Size)
	if errors.Is(err, drbd.ErrResync) || errors.Is(err, drbd.ErrNoPrimary) { // both are of a peer that is there
		return nil
	}
	if err == nil {
		e.moved(s.LV)
	}
	return err
}

// moved notes that the kernel has moved the metadata of a device to the end of a volume that has grown.
func (e *Engine) moved(lv decide.LV) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts.held[lv.Reservation] = lv.Size
}

// metadataAtEnd notes that DRBD's metadata is at the end of the volume as it is now.
func (e *Engine) metadataAtEnd(reservation string) error {
	fact := e.Journal.Facts().Backings[reservation]
	fact.MetaAt = 0
	return e.Journal.Backing(reservation, fact)
}
