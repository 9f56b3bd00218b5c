package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"rvol/cmd/internal/lab/sim"
	"rvol/lvm"
)

// filler is the volume of somebody else that takes all the room.
const filler = "filler"

// roomy picks a node whose LVM answers, and where nobody fills anything.
func (r *run) roomy(rnd *rand.Rand) (*sim.Node, lvm.Report) {
	n := r.running(rnd, func(_ int, n *sim.Node) bool { return !r.struck(n.Name, hungLVM, fullGroup, nearPool, fullPool) })
	if n == nil {
		return nil, lvm.Report{}
	}
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	report, err := lvm.New(n.LVM.Run).Report(ctx)
	if err != nil {
		return nil, report
	}
	return n, report
}

// fillGroup lets somebody else take what is free of a volume group.
func fillGroup(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n, report := r.roomy(rnd)
	if n == nil {
		return "", nil
	}
	vg, _ := report.VG("vg0")
	if vg.Free == 0 {
		return "", nil
	}
	if err := n.LVM.AddForeign("vg0", filler, vg.Free); err != nil {
		r.wrongf("fill vg0 of %s: %v", n.Name, err)
	}
	return n.Name, func() (bool, error) { return met(r.empty(n, "vg0")) }
}

func (r *run) empty(n *sim.Node, vg string) error {
	_, err := n.LVM.Run(r.ctx, "lvremove", "--yes", vg+"/"+filler)
	return err
}

// fillPool lets somebody else fill a thin pool until it may grow no more, or takes nothing.
func fillPool(percent int64) func(*run, *rand.Rand) (string, func() (bool, error)) {
	return func(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
		n, report := r.roomy(rnd)
		if n == nil {
			return "", nil
		}
		pool, _ := report.LV("vg1", "tp")
		if err := r.fillThin(n, pool, percent); err != nil {
			r.wrongf("fill vg1/tp of %s: %v", n.Name, err)
		}
		return n.Name, func() (bool, error) { return met(r.empty(n, "vg1")) }
	}
}

// chunkSize is what a thin pool is filled by, in bytes.
const chunkSize = 64 << 10

// fillThin leaves a pool with so much of 100 in use.
func (r *run) fillThin(n *sim.Node, pool lvm.LV, percent int64) error {
	if err := lvm.New(n.LVM.Run).ThinCreate(r.ctx, "tp", lvm.LVSpec{VG: "vg1", Name: filler, Size: pool.Size}); err != nil {
		return err
	}
	dev, err := n.LVM.Open("/dev/vg1/" + filler)
	if err != nil {
		return err
	}
	defer func() { _ = dev.Close() }() // memory
	room := pool.Size*percent/100 - pool.Size*int64(max(pool.Used, 0))/10000
	for off := int64(0); off < pool.Size && (percent == 100 || off < room); off += chunkSize {
		if _, err := dev.WriteAt([]byte{1}, off); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return fmt.Errorf("write at %d: %w", off, err)
		}
	}
	return nil
}

func fillCoordinator(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, func(i int, n *sim.Node) bool { return i < coordinators && !r.struck(n.Name, fullDisk) })
	if n == nil {
		return "", nil
	}
	r.space.fill(n.Name, true)
	return n.Name, func() (bool, error) { return r.space.fill(n.Name, false) > 0, nil }
}
