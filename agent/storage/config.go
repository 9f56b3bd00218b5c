package storage

import (
	"fmt"
	"slices"
	"time"

	"rvol/lvm"
)

// A Config says which group or pool a backend keeps its devices in.
type Config struct {
	Tool    *lvm.Tool
	Locks   *Locks // shared by all backends of the machine
	Cluster string // id: whose devices these are
	VG      string
	VGUUID  string
	// Of a thin backend; empty for a thick one.
	Pool     string
	PoolUUID string
	// Saw, if there is one, hears what was read of the group, and when the reading began.
	Saw func(vg string, r lvm.Report, began time.Time)
}

// A view is the group as one report shows it.
type view struct {
	Config
	report lvm.Report
	vg     lvm.VG
	pool   lvm.LV // thin backends only
}

// see finds the group and pool in a report. One that is missing or is another
// one is ErrUnavailable: nothing may be concluded from what it does not hold.
func (c Config) see(r lvm.Report) (view, error) {
	v := view{Config: c, report: r}
	named := slices.DeleteFunc(slices.Clone(r.VGs), func(vg lvm.VG) bool { return vg.Name != c.VG })
	switch {
	case len(named) == 0:
		return v, fmt.Errorf("%w: %s is not there", ErrUnavailable, c.VG)
	case len(named) > 1:
		return v, fmt.Errorf("%w: %d groups are named %s", ErrUnavailable, len(named), c.VG)
	case named[0].UUID != c.VGUUID:
		return v, fmt.Errorf("%w: %s has UUID %s, expected %s", ErrUnavailable, c.VG, named[0].UUID, c.VGUUID)
	case named[0].Exported || !named[0].Writable:
		return v, fmt.Errorf("%w: %s is exported or read-only", ErrUnavailable, c.VG)
	}
	v.vg = named[0]
	if c.Pool == "" {
		return v, nil
	}
	pool, ok := r.LV(c.VG, c.Pool)
	if !ok || !pool.ThinPool() || pool.UUID != c.PoolUUID {
		return v, fmt.Errorf("%w: %s/%s is not the thin pool with UUID %s", ErrUnavailable, c.VG, c.Pool, c.PoolUUID)
	}
	v.pool = pool
	return v, nil
}

// holds reports whether lv is of the kind that this backend makes.
func (v view) holds(lv lvm.LV) bool {
	if lv.VG != v.VG {
		return false
	}
	if v.Pool != "" {
		return lv.Thin() && lv.PoolUUID == v.PoolUUID
	}
	return !lv.Thin() && !lv.ThinPool()
}

// ours reports whether lv is a device of this cluster in this backend.
func (v view) ours(lv lvm.LV) bool {
	_, named := lvm.ParseName(lv.Name)
	return named && v.holds(lv) && lv.HasTags(clusterTag+v.Cluster)
}

func (v view) device(lv lvm.LV) Device {
	name, _ := lvm.ParseName(lv.Name)
	return Device{
		Name: name, UUID: lv.UUID, Path: lvm.Path(lv.VG, lv.Name), Size: lv.Size, Tags: lv.Tags,
		Active: lv.Active, Open: lv.Open, Partial: lv.Partial, Used: lv.Used,
	}
}

// DevicesIn lists the devices of this cluster that a report shows in the group
// or pool of c.
func DevicesIn(c Config, r lvm.Report) ([]Device, error) {
	v, err := c.see(r)
	if err != nil {
		return nil, err
	}
	var list []Device
	for _, lv := range r.LVs { // sorted by name
		if v.ours(lv) {
			list = append(list, v.device(lv))
		}
	}
	return list, nil
}

// SpaceIn is the space that a report shows in the group or pool of c.
func SpaceIn(c Config, r lvm.Report) (Space, error) {
	v, err := c.see(r)
	if err != nil {
		return Space{}, err
	}
	s := Space{VG: v.vg.Name, VGUUID: v.vg.UUID, ExtentSize: v.vg.ExtentSize, Partial: v.vg.Partial}
	var ours, virtual int64 // extents
	for _, lv := range r.LVs {
		if v.holds(lv) {
			virtual += lv.Size / s.ExtentSize
		}
		if v.ours(lv) {
			ours += lv.Size / s.ExtentSize
		}
	}
	if c.Pool == "" {
		s.Extents, s.FreeExtents = v.vg.Extents, v.vg.FreeExtents
		s.ForeignExtents = s.Extents - s.FreeExtents - ours
		return s, nil
	}
	s.Extents = v.pool.Size / s.ExtentSize
	s.ForeignExtents = virtual - ours
	s.Pool = &PoolSpace{
		Name: v.pool.Name, UUID: v.pool.UUID, Size: v.pool.Size, Virtual: virtual * s.ExtentSize,
		Used: v.pool.Used, MetadataUsed: v.pool.MetadataUsed,
		Zero: v.pool.Zero, WhenFull: v.pool.WhenFull, Health: v.pool.Health,
	}
	if used := v.pool.Used; used != lvm.Unknown {
		s.FreeExtents = s.Extents * int64(10000-used) / 10000
	}
	return s, nil
}
