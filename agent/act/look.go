package act

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
)

// input is what is known about a key without asking anybody.
func (e *Engine) input(name string) decide.Input {
	l, d := e.LVM.View(), e.DRBD.ViewOf(name)
	in := decide.Input{
		Facts: e.Journal.Facts(),
		Observed: decide.Observed{
			DRBD: d.Version, NoDRBD: d.Missing, DRBDError: d.Err, Resources: d.Resources,
			NoLVM: l.Missing, LVMError: l.Blind, VGs: l.VGs, LVs: l.LVs,
			Files: map[string]string{}, Metadata: map[string]decide.Metadata{}, Past: d.Past, Stream: d.Stream,
		},
	}
	switch text, err := os.ReadFile(e.resFile(name)); {
	case err == nil:
		in.Observed.Files[name] = string(text)
	case !errors.Is(err, fs.ErrNotExist):
		in.Observed.FileError = err.Error()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	in.Desired, in.Kept = e.order, e.kept
	e.facts.wasUp[name] = e.facts.wasUp[name] || len(d.Resources) > 0
	in.Facts.WasUp = e.facts.wasUp[name]
	in.Facts.Confirmed = e.facts.confirmed
	in.Facts.Applied = map[string]string{name: e.facts.applied[name]}
	in.Facts.Together = map[string]int64{name: e.facts.together[name]}
	in.Observed.Links = maps.Clone(e.links)
	in.Facts.Held = maps.Clone(e.facts.held)
	in.Facts.Verifying = maps.Clone(e.facts.verifying)
	e.lookAtRest(&in, name)
	in.Facts.Apart = decide.PartedSince(e.facts.apart[name], in.Desired, in.Observed, name, time.Now())
	in.Facts.Starved = decide.Starved(e.facts.starved[name], in, name)
	e.facts.starved[name] = in.Facts.Starved
	if e.facts.apart[name] = in.Facts.Apart; len(in.Facts.Apart) == 0 {
		delete(e.facts.apart, name)
	}
	in.Facts.Stuck = e.stuck(in, name)
	return in
}

// stuck are the peers of a resource that could have given good data for long enough. It is
// called with e.mu held.
func (e *Engine) stuck(in decide.Input, name string) []drbd.NodeID {
	since := decide.StuckSince(e.facts.stuck[name], in.Desired, in.Observed, name, time.Now())
	if e.facts.stuck[name] = since; len(since) == 0 {
		delete(e.facts.stuck, name)
	}
	var long []drbd.NodeID
	for _, id := range slices.Sorted(maps.Keys(since)) {
		if time.Since(since[id]) >= decide.StuckFor {
			long = append(long, id)
		}
	}
	return long
}

// freshFor is how old a report of LVM may be when something is to be done.
const freshFor = 2 * time.Second

// fresh is the same after asking LVM and the kernel.
func (e *Engine) fresh(ctx context.Context, name string, plan decide.Plan) (decide.Input, *decide.Refusal) {
	if !creates(plan) {
		order := e.input(name).Desired
		for vg := range groups(order, name) {
			e.LVM.Fresh(ctx, vg, freshFor)
		}
	}
	in := e.input(name)
	if in.Observed.NoDRBD != "" || in.Observed.DRBDError != "" {
		return in, nil // decide says what that means
	}
	if decide.OfNoResource(name) {
		return in, nil // DRBD has nothing to say
	}
	// Without a file nobody brought it up, as the events say too.
	if in.Observed.Files[name] != "" || len(in.Observed.Resources) > 0 || e.releasing(in, name) {
		r, up, err := e.DRBD.Fresh(ctx, name)
		if err != nil {
			return in, explain(look("status of "+name), err)
		}
		in.Observed.Resources = nil
		if up {
			in.Observed.Resources = []drbd.Resource{r}
		}
	}
	e.lookAtMetadata(ctx, in, name, false)
	return in, nil
}

// lookAtPools is the input, with pools as they are now where DRBD has let go of a disk: that
// of a pool that was full is soon forgotten by who looks once a minute.
func (e *Engine) lookAtPools(ctx context.Context, name string) decide.Input {
	in := e.input(name)
	vgs := decide.LetGo(in, name)
	for _, vg := range vgs {
		e.LVM.Fresh(ctx, vg, freshFor)
	}
	if len(vgs) > 0 {
		in = e.input(name)
	}
	return in
}

// creates says that nothing but volumes is to be made: storage looks at their group by itself, under its lock.
func creates(p decide.Plan) bool {
	for _, s := range p.Steps {
		if _, ok := s.(decide.CreateLV); !ok {
			return false
		}
	}
	return len(p.Steps) > 0
}

// lookAtMetadata adds to the input what Looks asks for. idle: there is nothing to do, it is for the report alone.
func (e *Engine) lookAtMetadata(ctx context.Context, in decide.Input, name string, idle bool) {
	for _, l := range decide.Looks(in, name) {
		md, known := e.recall(in, name, l, idle)
		if !known {
			var err error
			if md, err = e.DRBD.Metadata(ctx, l, e.resFile(name)); err != nil {
				md = decide.Metadata{Err: err.Error()}
			}
			e.remember(l.LV.UUID, remembered{Metadata: md})
		}
		in.Observed.Metadata[l.LV.UUID] = md
	}
}

// remembered is what metadata said last.
type remembered struct {
	decide.Metadata
	written bool // by this process, which has not looked since
}

func (e *Engine) remember(lv string, md remembered) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.facts.metadata[lv] = md
}

// recall answers a look without asking: what the last step has written is there, once; and a data generation that nobody has begun is
// still not begun while the disk is Inconsistent, Secondary and at rest. Before anything is done the kernel is asked all the same.
func (e *Engine) recall(in decide.Input, name string, l decide.Look, idle bool) (decide.Metadata, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.facts.metadata[l.LV.UUID]
	delete(e.facts.metadata, l.LV.UUID)
	if l.Attached && last.Attached && idle && last.Current == drbd.JustCreated && unborn(in, name, l.Number) {
		e.facts.metadata[l.LV.UUID] = last
		return last.Metadata, true
	}
	return last.Metadata, last.written && !l.Attached
}

// unborn says that nothing can have given the device a data generation.
func unborn(in decide.Input, resource string, number int) bool {
	r, _ := in.Observed.Resource(resource)
	dev, _ := r.Device(number)
	resyncing := slices.ContainsFunc(r.Peers, func(p drbd.Peer) bool {
		d, _ := p.Device(number)
		return d.Repl.Resyncing()
	})
	return r.Role == drbd.Secondary && dev.Disk == drbd.Inconsistent && !resyncing
}

type look string

func (l look) String() string { return "look at " + string(l) }

// groups are the volume groups that a key is about.
func groups(d decide.Desired, name string) map[string]bool {
	vgs := map[string]bool{}
	for _, r := range d.Releases {
		if r.Resource == name && r.VG != "" {
			vgs[r.VG] = true
		}
	}
	if r, ok := d.Resource(name); ok {
		for _, dev := range r.Devices {
			if dev.Backing != nil {
				vgs[dev.Backing.VG] = true
			}
		}
	}
	return vgs
}

// The files of DRBD, below Root.
const (
	resDir     = "etc/drbd.d/rvol"
	resInclude = "etc/drbd.d/rvol.res"
	includeAll = "include \"rvol/*.res\";\n"
)

func (e *Engine) resFile(name string) string {
	return filepath.Join(e.Root, resDir, name+".res")
}

// Files names the resources of which there is a .res file in our folder, ordered or not. What cannot be
// read is told by the steps that need it.
func (e *Engine) Files() []string {
	paths, _ := filepath.Glob(e.resFile("*")) // the pattern is well-formed
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".res")
	}
	return paths
}

// readLinks looks which symlinks to DRBD devices there are.
func (e *Engine) readLinks() {
	links := map[string]string{}
	for _, pattern := range []string{"rvol/*", "drbd/by-res/*/*"} {
		paths, _ := filepath.Glob(filepath.Join(e.Root, "dev", pattern)) // the pattern is well-formed
		for _, path := range paths {
			to, err := os.Readlink(path)
			name, relErr := filepath.Rel(filepath.Join(e.Root, "dev"), path)
			if err == nil && relErr == nil {
				links[name] = "/dev/" + filepath.Base(to) // udev makes them relative
			}
		}
	}
	e.mu.Lock()
	e.links = links
	e.mu.Unlock()
}
