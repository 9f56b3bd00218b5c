package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
)

// DRBD is what the kernel's DRBD holds, told by its stream of events.
type DRBD struct {
	run     drbd.Runner
	follow  drbd.Follower
	root    string
	log     *slog.Logger
	changed func(resources ...string)

	mu      sync.Mutex
	tool    *drbd.Tool
	missing string // why DRBD cannot be used
	known   []drbd.Resource
	live    *drbd.Table // of the stream that runs; nil: its dump has not ended
	streams int         // that have begun
	err     string      // why known is not how it is
	seen    bool
}

// A DRBDView is what is known of DRBD.
type DRBDView struct {
	Seen      bool // it was tried at least once
	Version   drbd.Version
	Missing   string
	Err       string
	Resources []drbd.Resource
	// Past is of one resource, since the stream of that number began.
	Past   map[drbd.Pair]drbd.Past
	Stream int
}

// NewDRBD makes a DRBD that knows nothing yet. /proc is in root. It calls changed with the
// names of resources that changed, and with none when that may be any.
func NewDRBD(run drbd.Runner, follow drbd.Follower, root string, log *slog.Logger, changed func(resources ...string)) *DRBD {
	return &DRBD{run: run, follow: follow, root: root, log: log, changed: changed, err: "not looked at yet"}
}

// Pauses before the stream is followed again, and before DRBD is looked for
// again.
const (
	followPause = time.Second
	detectPause = 30 * time.Second
)

// Run finds DRBD and follows its events, anew whenever the stream breaks.
func (d *DRBD) Run(ctx context.Context) error {
	for {
		pause := followPause
		if err := d.detect(ctx); err != nil {
			pause = detectPause
		} else if err := d.stream(ctx); ctx.Err() == nil {
			d.log.WarnContext(ctx, "following drbd events again", "err", err, "again", pause)
			d.broken(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// detect finds out which DRBD there is.
func (d *DRBD) detect(ctx context.Context) error {
	v, err := drbd.Detect(ctx, d.run)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && !v.Loaded() {
		err = errNotLoaded
	}
	d.mu.Lock()
	d.missing = ""
	if v.Tools != (drbd.Number{}) {
		d.tool = drbd.New(d.run, v)
	}
	if err != nil {
		d.missing, d.seen = err.Error(), true
	}
	d.mu.Unlock()
	if err != nil {
		d.changed()
	}
	return err
}

var errNotLoaded = errors.New("DRBD kernel module is not loaded: modprobe drbd")

// stream follows the events until that breaks.
func (d *DRBD) stream(ctx context.Context) error {
	table := drbd.NewTable()
	ctx, cancel := context.WithCancel(ctx)
	var measuring sync.WaitGroup
	measuring.Go(func() { d.measure(ctx, table) })
	defer measuring.Wait()
	defer cancel()
	return drbd.Follow(ctx, d.follow, func(e drbd.Event) error {
		d.mu.Lock()
		err := table.Apply(e)
		began := err == nil && table.Complete() && d.live != table
		if began {
			d.live, d.err, d.seen = table, "", true
			d.streams++
		}
		d.mu.Unlock()
		switch {
		case err != nil:
			return err
		case began:
			d.changed()
		case table.Complete():
			d.changed(e.Name())
		}
		return nil
	})
}

// measurePeriod is how often a resync is looked at: the kernel tells how it
// begins and ends, not how it goes.
const measurePeriod = 2 * time.Second

// measure looks how resyncs go, for as long as there are any.
func (d *DRBD) measure(ctx context.Context, table *drbd.Table) {
	tick := time.NewTicker(measurePeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		resyncing, tool := table.Resyncing(), d.tool
		d.mu.Unlock()
		if !resyncing {
			continue
		}
		all, err := tool.StatusAll(ctx)
		if err != nil {
			continue // the events go on, and tell what matters
		}
		if tool.Version().Is84() {
			d.compared(ctx, all)
		}
		var moved []string
		d.mu.Lock()
		for _, r := range all {
			if table.Measure(r) {
				moved = append(moved, r.Name)
			}
		}
		d.mu.Unlock()
		if len(moved) > 0 {
			d.changed(moved...)
		}
	}
}

// compared adds how far comparisons are, of which the tools of DRBD 8.4 tell nothing.
func (d *DRBD) compared(ctx context.Context, all []drbd.Resource) {
	proc, err := os.ReadFile(filepath.Join(d.root, "proc/drbd"))
	if err != nil {
		d.log.DebugContext(ctx, "how far comparisons are is not known", "err", err)
		return
	}
	drbd.MeasureCompared(all, proc)
}

// broken keeps what was known, as what it is: old.
func (d *DRBD) broken(err error) {
	d.mu.Lock()
	if d.live != nil {
		d.known, d.live = d.live.Resources(), nil
	}
	d.err, d.seen = "the stream of events ended", true
	if err != nil {
		d.err = err.Error()
	}
	d.mu.Unlock()
	d.changed()
}

// Tool speaks to the DRBD that was found; nil: none was.
func (d *DRBD) Tool() *drbd.Tool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tool
}

// installed is the tool, or why there is none: a machine may have volumes of DRBD's and not
// its tools.
func (d *DRBD) installed() (*drbd.Tool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tool == nil {
		return nil, fmt.Errorf("DRBD's tools: %w", drbd.ErrToolMissing)
	}
	return d.tool, nil
}

// View is what is known of all resources.
func (d *DRBD) View() DRBDView {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.view()
	v.Resources = d.known
	if d.live != nil {
		v.Resources = d.live.Resources()
	}
	return v
}

// ViewOf is what is known of one resource.
func (d *DRBD) ViewOf(name string) DRBDView {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.view()
	if d.live != nil {
		if r, up := d.live.Resource(name); up {
			v.Resources = []drbd.Resource{r}
			v.Past, v.Stream = d.live.Past(name), d.streams
		}
		return v
	}
	for _, r := range d.known {
		if r.Name == name {
			v.Resources = []drbd.Resource{r}
		}
	}
	return v
}

func (d *DRBD) view() DRBDView {
	v := DRBDView{Seen: d.seen, Missing: d.missing, Err: d.err}
	if d.tool != nil {
		v.Version = d.tool.Version()
	}
	if d.missing != "" {
		v.Err = ""
	}
	return v
}

// Fresh asks the kernel about one resource; false: it is not up.
func (d *DRBD) Fresh(ctx context.Context, resource string) (drbd.Resource, bool, error) {
	tool, err := d.installed()
	if err != nil {
		return drbd.Resource{}, false, err
	}
	r, err := tool.Status(ctx, resource)
	switch {
	case errors.Is(err, drbd.ErrUnknownResource):
		return drbd.Resource{}, false, nil
	case err != nil:
		return drbd.Resource{}, false, err
	}
	d.mu.Lock()
	news := d.live != nil && d.live.Measure(r)
	d.mu.Unlock()
	if news {
		d.changed(resource)
	}
	return r, true, nil
}

// Metadata reads what a look asks for.
func (d *DRBD) Metadata(ctx context.Context, look decide.Look, file string) (decide.Metadata, error) {
	tool, err := d.installed()
	if err != nil {
		return decide.Metadata{}, err
	}
	if look.Attached {
		ref := drbd.Ref{Name: look.Target.Resource, File: file, Minors: look.Target.Minors}
		gi, err := tool.Generations(ctx, ref, look.Peer, look.Number)
		return decide.Metadata{Current: gi.Current, Generations: gi, Attached: true}, err
	}
	md, err := tool.DumpMD(ctx, drbd.MetaDev{Minor: look.Minor, Disk: look.LV.Path()})
	switch {
	case errors.Is(err, drbd.ErrNoMetadata):
		return decide.Metadata{None: true}, nil
	case errors.Is(err, drbd.ErrUncleanMetadata):
		// In use before the power went: what is asked here is whose it is.
		device, err := tool.ReadDevUUID(ctx, drbd.MetaDev{Minor: look.Minor, Disk: look.LV.Path()})
		return decide.Metadata{Device: device}, err
	case err != nil:
		return decide.Metadata{}, err
	}
	return decide.Metadata{Current: md.Current, Device: md.Device}, nil
}
