package act

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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
			Files: map[string]string{}, Metadata: map[string]decide.Metadata{},
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
	in.Desired = e.order
	in.Facts.Confirmed = e.facts.confirmed
	in.Facts.Applied = map[string]string{name: e.facts.applied[name]}
	in.Facts.Together = map[string]int64{name: e.facts.together[name]}
	in.Observed.Links = maps.Clone(e.links)
	return in
}

// freshFor is how old a report of LVM may be when something is to be done.
const freshFor = 2 * time.Second

// fresh is the same after asking LVM and the kernel.
func (e *Engine) fresh(ctx context.Context, name string) (decide.Input, *decide.Refusal) {
	order := e.input(name).Desired
	for vg := range groups(order, name) {
		e.LVM.Fresh(ctx, vg, freshFor)
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
	for _, l := range decide.Looks(in, name) {
		md, err := e.DRBD.Metadata(ctx, l, e.resFile(name))
		if err != nil {
			md = decide.Metadata{Err: err.Error()}
		}
		in.Observed.Metadata[l.LV.UUID] = md
	}
	return in, nil
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
