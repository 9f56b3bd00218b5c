package act

import (
	"context"
	"errors"
	"fmt"

	"rvol/agent/decide"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/lvm"
)

// doVolume carries out what LVM is asked, and metadata of volumes that DRBD
// does not hold.
func (e *Engine) doVolume(ctx context.Context, step decide.Step) error {
	switch s := step.(type) {
	case decide.CreateLV:
		return e.createLV(ctx, s)
	case decide.GrowLV:
		return e.growLV(ctx, s)
	case decide.MoveMetadata:
		if err := e.DRBD.Tool().CheckResize(ctx, drbd.MetaDev{Minor: s.Minor, Disk: s.LV.Path()}); err != nil {
			return err
		}
		return e.metadataAtEnd(s.Reservation)
	case decide.ActivateLV:
		defer e.LVM.Fresh(ctx, s.LV.VG, 0)
		return e.Locks.Change(ctx, s.LV.VG, func() error { return e.Tool.LVActivate(ctx, s.LV.VG, s.LV.Name) })
	case decide.MakeMetadata:
		return e.makeMetadata(ctx, s)
	case decide.WipeMetadata:
		e.wipeMetadata(ctx, s)
		return nil
	case decide.RemoveLV:
		return e.removeLV(ctx, s)
	case decide.MakeVG:
		return e.makeVG(ctx, s)
	}
	return fmt.Errorf("no way to %s", step)
}

// backend is where the volumes of a group or thin pool are made and removed.
func (e *Engine) backend(cluster, vg, vgUUID, pool string) (storage.Backend, error) {
	c := storage.Config{Tool: e.Tool, Locks: e.Locks, Cluster: cluster, VG: vg, VGUUID: vgUUID, Pool: pool, Saw: e.LVM.Saw}
	if pool == "" {
		return storage.NewThick(c), nil
	}
	uuid, err := e.LVM.View().PoolUUID(vgUUID, pool)
	c.PoolUUID = uuid
	return storage.NewThin(c), err
}

// createLV writes down that it begins, makes the volume, and writes down its
// UUID: from then on it is known to be new and ours.
func (e *Engine) createLV(ctx context.Context, s decide.CreateLV) error {
	b := s.Backing
	name, ok := lvm.ParseName(b.LV)
	if !ok {
		return fmt.Errorf("%q is no name of an LV of ours", b.LV)
	}
	backend, err := e.backend(s.Cluster, b.VG, b.VGUUID, b.ThinPool)
	if err != nil {
		return err
	}
	fact := e.Journal.Facts().Backings[b.Reservation]
	began := fact.LV != ""
	fact.VGUUID, fact.LV = b.VGUUID, b.LV
	if !began {
		if err := e.Journal.Backing(b.Reservation, fact); err != nil {
			return err
		}
	}
	device, err := backend.Create(ctx, storage.Spec{
		Name: name, Size: roundUp(b.Size), Tags: storage.Tags(s.Cluster, b.Reservation), Wipe: storage.Wipe(b.Wipe),
	})
	if err != nil { // else the last thing that was done is that it was seen
		e.LVM.Fresh(ctx, b.VG, 0)
	}
	if err != nil {
		return err
	}
	if fact.LVUUID = device.UUID; !began && !device.JustCreated {
		// It was there with our tags before this agent ever began: it may
		// hold data. Its UUID is written down, metadata is not made on it.
		fact.MetaMade = true
	}
	return e.Journal.Backing(b.Reservation, fact)
}

// roundUp makes whole sectors of bytes.
func roundUp(size int64) int64 {
	return (size + lvm.SectorSize - 1) / lvm.SectorSize * lvm.SectorSize
}

// makeMetadata may run again after a crash: until it is written down as done,
// nothing was ever attached.
func (e *Engine) makeMetadata(ctx context.Context, s decide.MakeMetadata) error {
	fact := e.Journal.Facts().Backings[s.Reservation]
	if fact.LVUUID != s.LV.UUID || fact.MetaMade {
		return fmt.Errorf("the journal does not say that LV %s was just made", s.LV.UUID)
	}
	tool, disk := e.DRBD.Tool(), drbd.MetaDev{Minor: s.Minor, Disk: s.LV.Path()}
	if err := tool.CreateMD(ctx, disk, s.Peers); err != nil {
		return err
	}
	if err := tool.WriteDevUUID(ctx, disk, s.Device); err != nil {
		return err
	}
	e.remember(s.LV.UUID, remembered{Metadata: decide.Metadata{Current: drbd.JustCreated, Device: s.Device}, written: true})
	fact.MetaMade = true
	return e.Journal.Backing(s.Reservation, fact)
}

// wipeMetadata is a courtesy: the volume is removed either way.
func (e *Engine) wipeMetadata(ctx context.Context, s decide.WipeMetadata) {
	if err := e.DRBD.Tool().WipeMD(ctx, drbd.MetaDev{Minor: s.Minor, Disk: s.LV.Path()}); err != nil {
		e.Log.WarnContext(ctx, "metadata not wiped", "lvg", s.LV.VG, "err", err)
	}
}

func (e *Engine) removeLV(ctx context.Context, s decide.RemoveLV) error {
	name, ok := lvm.ParseName(s.LV.Name)
	if !ok {
		return fmt.Errorf("%q is no name of an LV of ours", s.LV.Name)
	}
	backend, err := e.backend(s.Cluster, s.LV.VG, s.LV.VGUUID, s.LV.ThinPool)
	if err != nil {
		return err
	}
	defer e.LVM.Fresh(ctx, s.LV.VG, 0)
	return backend.Remove(ctx, storage.Identity{Name: name, UUID: s.LV.UUID, Tags: storage.Tags(s.Cluster, s.Reservation)})
}

func (e *Engine) makeVG(ctx context.Context, s decide.MakeVG) error {
	if err := e.Journal.Start(s.Operation); err != nil {
		return err
	}
	defer e.LVM.Wake()
	result := decide.Result{ID: s.Operation, Succeeded: true, Interrupted: s.Interrupted, Text: "volume group " + s.CreateVG.VG + " made"}
	err := storage.MakeGroup(ctx, e.Tool, e.Locks, storage.Offer{
		Device: s.CreateVG.Device, VG: s.CreateVG.VG, Pool: s.CreateVG.ThinPool, Tags: []string{"rvol.operation=" + s.Operation},
	})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, storage.ErrStuck) {
			return err // nobody knows: look
		}
		result.Succeeded, result.Text = false, err.Error()
	}
	return e.Journal.Finish(result)
}
