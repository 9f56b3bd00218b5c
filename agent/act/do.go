package act

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rvol/agent/decide"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/lvm"
)

// do carries out one step.
func (e *Engine) do(ctx context.Context, in decide.Input, step decide.Step) error {
	switch s := step.(type) {
	case decide.CreateLV:
		return e.createLV(ctx, s)
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
	case decide.WriteFile:
		return e.writeFile(ctx, s)
	case decide.RemoveFile:
		return removeFile(e.resFile(s.Resource))
	case decide.Link:
		return e.link(s)
	case decide.Unlink:
		return e.unlink(s)
	case decide.MakeVG:
		return e.makeVG(ctx, s)
	case decide.Finish:
		return e.Journal.Finish(s.Result)
	default:
		return e.doDRBD(ctx, in, step)
	}
}

// doDRBD carries out what the kernel's DRBD is asked.
func (e *Engine) doDRBD(ctx context.Context, in decide.Input, step decide.Step) error {
	tool := e.DRBD.Tool()
	switch s := step.(type) {
	case decide.Up:
		if err := tool.Up(ctx, e.ref(s.Target)); err != nil {
			return err
		}
		return e.applied(s.Resource)
	case decide.Attach:
		return tool.Attach(ctx, e.ref(s.Target), s.Number)
	case decide.Adjust:
		return e.adjust(ctx, s)
	case decide.Primary:
		return tool.Primary(ctx, e.ref(s.Target))
	case decide.Secondary:
		return tool.Secondary(ctx, e.ref(s.Target))
	case decide.Down:
		e.forget(s.Resource)
		defer func() {
			for vg := range groups(in.Desired, s.Resource) {
				e.LVM.Fresh(ctx, vg, 0) // its volumes are not open any more
			}
		}()
		return tool.Down(ctx, s.Resource)
	case decide.NewCurrentUUID:
		return e.newCurrentUUID(ctx, s)
	}
	return fmt.Errorf("no way to %s", step)
}

func (e *Engine) ref(t decide.Target) drbd.Ref {
	return drbd.Ref{Name: t.Resource, File: e.resFile(t.Resource), Minors: t.Minors, Alone: t.Alone}
}

// applied notes that the kernel runs what the file says.
func (e *Engine) applied(resource string) error {
	text, err := os.ReadFile(e.resFile(resource))
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts.applied[resource] = string(text)
	return nil
}

func (e *Engine) forget(resource string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.facts.applied, resource)
}

// backend is where the volumes of a group or thin pool are made and removed.
func (e *Engine) backend(cluster, vg, vgUUID, pool string) (storage.Backend, error) {
	c := storage.Config{Tool: e.Tool, Locks: e.Locks, Cluster: cluster, VG: vg, VGUUID: vgUUID, Pool: pool}
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
	defer e.LVM.Fresh(ctx, b.VG, 0)
	device, err := backend.Create(ctx, storage.Spec{
		Name: name, Size: roundUp(b.Size), Tags: storage.Tags(s.Cluster, b.Reservation), Wipe: storage.Wipe(b.Wipe),
	})
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

// writeFile lets the tools read the new file before it takes the old one's
// place, and sees that an administrator's drbdadm finds it.
func (e *Engine) writeFile(ctx context.Context, s decide.WriteFile) error {
	path := e.resFile(s.Resource)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := writeBeside(path, []byte(s.Text), 0o600)
	if err != nil {
		return err
	}
	if err := e.DRBD.Tool().Check(ctx, drbd.Ref{Name: s.Resource, File: temp, Minors: s.Minors, Alone: s.Alone}); err != nil {
		return errors.Join(fmt.Errorf("check the new file: %w", err), os.Remove(temp))
	}
	if err := commit(temp, path); err != nil {
		return err
	}
	include := filepath.Join(e.Root, resInclude)
	if text, err := os.ReadFile(include); err == nil && string(text) == includeAll {
		return nil
	}
	return replaceFile(include, []byte(includeAll), 0o600)
}

// adjust reads what it would run before it runs it.
func (e *Engine) adjust(ctx context.Context, s decide.Adjust) error {
	tool, ref := e.DRBD.Tool(), e.ref(s.Target)
	commands, err := tool.DryAdjust(ctx, ref)
	if err != nil {
		return err
	}
	if why := s.Allow.Check(s.Resource, commands); why != nil {
		return why
	}
	if len(commands) > 0 || s.Alone {
		if err := tool.Adjust(ctx, ref); err != nil {
			return err
		}
	}
	return e.applied(s.Resource)
}

// newCurrentUUID writes down that it begins; should it be interrupted, the
// next round looks instead of running it again.
func (e *Engine) newCurrentUUID(ctx context.Context, s decide.NewCurrentUUID) error {
	if err := e.Journal.Start(s.Operation); err != nil {
		return err
	}
	result := decide.Result{ID: s.Operation, Succeeded: true, Text: "first data generation created"}
	for _, minor := range s.Devices {
		err := e.DRBD.Tool().NewCurrentUUID(ctx, minor, s.Sync)
		if _, refused := errors.AsType[*drbd.Error](err); refused {
			result.Succeeded, result.Text = false, err.Error()
			break
		}
		if err != nil {
			return err // nobody knows: look
		}
	}
	if err := e.reached("ran: " + s.String()); err != nil {
		return err
	}
	return e.Journal.Finish(result)
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

// link replaces what has the name now.
func (e *Engine) link(s decide.Link) error {
	path := filepath.Join(e.Root, "dev", s.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(s.To, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.links[s.Name] = s.To
	return nil
}

func (e *Engine) unlink(s decide.Unlink) error {
	if err := os.Remove(filepath.Join(e.Root, "dev", s.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.links, s.Name)
	return nil
}
