package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rvol/agent/decide"
	"rvol/agent/storage"
	"rvol/lvm"
)

// LVM is what the volume groups of this machine hold.
type LVM struct {
	tool    *lvm.Tool
	locks   *storage.Locks
	changed func()
	wake    chan struct{}

	mu      sync.Mutex
	reading map[string]chan struct{} // by VG name: one look at a time
	report  lvm.Report
	stale   map[string]string    // by VG name: why it could not be read
	read    map[string]time.Time // by VG name: when the look began that is known
	seen    bool                 // it was tried at least once
	missing string               // why LVM cannot be used
	err     string               // why the whole could not be read
	cluster string
	offered []string
	view    LVMView

	root      string // where /etc/lvm is
	version   string
	settings  lvm.Settings
	configErr string // why the settings are not known
	stamp     string // of the files that the settings come from, when they were read
}

// An LVMView is what is known of LVM.
type LVMView struct {
	Seen    bool   // it was tried at least once
	Missing string // why LVM cannot be used
	Blind   string // why nothing at all is known
	Err     string // why this is not all, or not how it is now
	VGs     []decide.VG
	LVs     []decide.LV

	Version     string // of the tools; "": not known
	Settings    lvm.Settings
	SettingsErr string // why they are not known
}

// NewLVM makes an LVM that knows nothing yet, of the machine whose files are
// below root. It calls changed when what is known changes.
func NewLVM(tool *lvm.Tool, locks *storage.Locks, root string, changed func()) *LVM {
	return &LVM{
		tool: tool, locks: locks, root: root, changed: changed, wake: make(chan struct{}, 1), configErr: "not looked at yet",
		reading: map[string]chan struct{}{}, stale: map[string]string{}, read: map[string]time.Time{}, err: "not looked at yet",
	}
}

// lvmPeriod is how often LVM is looked at when nothing happens.
const lvmPeriod = time.Minute

// Run looks at LVM now, whenever Wake is called, and once a minute.
func (l *LVM) Run(ctx context.Context) error {
	tick := time.NewTicker(lvmPeriod)
	defer tick.Stop()
	for {
		l.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-l.wake:
		}
	}
}

// Wake makes Run look soon.
func (l *LVM) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Serve tells whose volumes are ours, and which groups are offered.
func (l *LVM) Serve(d decide.Desired) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cluster, l.offered = d.Cluster, nil
	for _, p := range d.Pools {
		l.offered = append(l.offered, p.VG)
	}
	l.summarize()
}

// Fresh looks at one group again unless that was done within age.
func (l *LVM) Fresh(ctx context.Context, vg string, age time.Duration) {
	l.mu.Lock()
	turn, ok := l.reading[vg]
	if !ok {
		turn = make(chan struct{}, 1)
		l.reading[vg] = turn
	}
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return // nobody waits for a tool that is slow
	}
	l.mu.Lock()
	last := l.read[vg]
	l.mu.Unlock()
	if age == 0 || time.Since(last) >= age {
		l.look(ctx, vg)
	}
}

// Saw takes what somebody else has read of one group.
func (l *LVM) Saw(vg string, r lvm.Report, began time.Time) {
	l.mu.Lock()
	if !l.read[vg].After(began) {
		l.takeGroup(vg, r, began)
		l.summarize()
	}
	l.mu.Unlock()
	l.changed()
}

// Look reads all groups. When that fails, each that is known is read by
// itself: it may be one alone that cannot be.
func (l *LVM) Look(ctx context.Context) {
	l.lookAtSettings(ctx)
	began := time.Now()
	r, err := l.tool.Report(ctx)
	if ctx.Err() != nil {
		return // ended in the middle: that says nothing
	}
	l.mu.Lock()
	l.takeAll(r, err, began)
	l.summarize()
	single := l.err != ""
	l.mu.Unlock()
	if single {
		var looks sync.WaitGroup
		for _, vg := range l.names() {
			looks.Go(func() { l.look(ctx, vg) })
		}
		looks.Wait()
	}
	l.changed()
}

// names lists the groups that are known or offered.
func (l *LVM) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Clone(l.offered)
	for _, vg := range l.report.VGs {
		names = append(names, vg.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// look reads one group, but not while its lock is held by a command that does
// not end: it would have to wait as well.
func (l *LVM) look(ctx context.Context, vg string) {
	began := time.Now()
	err := l.locks.Stuck(vg)
	var r lvm.Report
	if err == nil {
		r, err = l.tool.Report(ctx, vg)
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	if err == nil || errors.Is(err, lvm.ErrNotFound) {
		l.takeGroup(vg, r, began)
	} else {
		l.stale[vg] = err.Error()
	}
	l.summarize()
	l.mu.Unlock()
	l.changed()
}

// takeAll takes a report on everything, but for groups of which a younger one
// is known.
func (l *LVM) takeAll(r lvm.Report, err error, began time.Time) {
	l.seen, l.missing, l.err = true, "", ""
	switch {
	case errors.Is(err, lvm.ErrToolMissing):
		l.missing = err.Error()
		return
	case err != nil:
		l.err = err.Error()
		return
	}
	known := l.report
	l.report = lvm.Report{PVs: r.PVs}
	younger := func(vg string) bool { return l.read[vg].After(began) }
	for _, from := range []struct {
		lvm.Report
		young bool
	}{{known, true}, {r, false}} {
		for _, vg := range from.VGs {
			if younger(vg.Name) == from.young {
				l.report.VGs = append(l.report.VGs, vg)
			}
		}
		for _, lv := range from.LVs {
			if younger(lv.VG) == from.young {
				l.report.LVs = append(l.report.LVs, lv)
			}
		}
	}
	for _, vg := range r.VGs {
		if !younger(vg.Name) {
			l.read[vg.Name] = began
			delete(l.stale, vg.Name)
		}
	}
	maps.DeleteFunc(l.stale, func(name string, _ string) bool { _, there := l.report.VG(name); return !there })
	l.sort()
}

// takeGroup puts one group's part in the place of what was known of it.
func (l *LVM) takeGroup(vg string, r lvm.Report, began time.Time) {
	if l.read[vg].After(began) {
		return
	}
	delete(l.stale, vg)
	l.read[vg] = began
	l.report.VGs = slices.Concat(slices.DeleteFunc(slices.Clone(l.report.VGs), func(v lvm.VG) bool { return v.Name == vg }), r.VGs)
	l.report.LVs = slices.Concat(slices.DeleteFunc(slices.Clone(l.report.LVs), func(v lvm.LV) bool { return v.VG == vg }), r.LVs)
	l.sort()
}

func (l *LVM) sort() {
	slices.SortFunc(l.report.VGs, func(a, b lvm.VG) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	slices.SortFunc(l.report.LVs, func(a, b lvm.LV) int {
		return cmp.Or(cmp.Compare(a.VG, b.VG), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
}

// View is what is known. It is shared: do not change it.
func (l *LVM) View() LVMView {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view
}

// summarize makes the view of the report.
func (l *LVM) summarize() {
	v := LVMView{Seen: l.seen, Missing: l.missing, Err: l.err, Version: l.version, Settings: l.settings, SettingsErr: l.configErr}
	if l.err != "" && len(l.report.VGs) == 0 {
		v.Blind = l.err
	}
	for _, vg := range slices.Sorted(maps.Keys(l.stale)) {
		v.Err = strings.TrimPrefix(v.Err+"; "+vg+": "+l.stale[vg], "; ")
	}
	for _, g := range l.report.VGs {
		v.VGs = append(v.VGs, l.group(g))
	}
	for _, lv := range l.report.LVs {
		if lv.ThinPool() {
			continue
		}
		o := storage.OwnerOf(lv.Tags)
		v.LVs = append(v.LVs, decide.LV{
			VG: lv.VG, VGUUID: lv.VGUUID, Name: lv.Name, UUID: lv.UUID, Size: lv.Size, ThinPool: lv.Pool,
			Active: lv.Active, Open: lv.Open, Cluster: o.Cluster, Reservation: o.Reservation, Unfinished: o.Wiping,
		})
	}
	l.view = v
}

func (l *LVM) group(g lvm.VG) decide.VG {
	vg := decide.VG{
		Name: g.Name, UUID: g.UUID, ExtentSize: g.ExtentSize, Extents: g.Extents, FreeExtents: g.FreeExtents,
		Partial: g.Partial, Stale: l.stale[g.Name],
	}
	space, err := storage.SpaceIn(storage.Config{Cluster: l.cluster, VG: g.Name, VGUUID: g.UUID}, l.report)
	if err != nil && vg.Stale == "" {
		vg.Stale = err.Error()
	}
	vg.ForeignExtents = space.ForeignExtents
	for _, lv := range l.report.LVs {
		if lv.VGUUID == g.UUID && lv.ThinPool() {
			vg.ThinPools = append(vg.ThinPools, decide.ThinPool{
				Name: lv.Name, UUID: lv.UUID, Size: lv.Size, DataPercent: percent(lv.Used), MetadataPercent: percent(lv.MetadataUsed),
				Zeroes: lv.Zero, ErrorWhenFull: lv.WhenFull == "error",
			})
		}
	}
	return vg
}

// PoolUUID finds a thin pool.
func (v LVMView) PoolUUID(vgUUID, pool string) (string, error) {
	for _, vg := range v.VGs {
		for _, p := range vg.ThinPools {
			if vg.UUID == vgUUID && p.Name == pool {
				return p.UUID, nil
			}
		}
	}
	return "", fmt.Errorf("no thin pool %s in volume group %s", pool, vgUUID)
}

func percent(p lvm.Percent) float64 {
	if p < 0 {
		return -1
	}
	return float64(p) / 100
}
