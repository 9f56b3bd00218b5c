package drbd

import (
	"bytes"
	"regexp"
	"strconv"
)

// Untold is Done of a comparison of which nobody has told yet how far it is.
const Untold = -1

var (
	procDevice   = regexp.MustCompile(`^\s*(\d+): cs:`)
	procVerified = regexp.MustCompile(`\bverified:\s*(\d+\.\d)%`)
)

// MeasureCompared adds to resources of DRBD 8.4 how much of them was compared, which nothing
// but /proc/drbd tells. Its lines are for people: what is not understood is left Untold.
func MeasureCompared(resources []Resource, proc []byte) {
	done, minor := map[Minor]float64{}, Minor(0)
	for line := range bytes.Lines(proc) {
		if m := procDevice.FindSubmatch(line); m != nil {
			n, err := strconv.Atoi(string(m[1]))
			if err != nil {
				return
			}
			minor = Minor(n)
		}
		if m := procVerified.FindSubmatch(line); m != nil {
			if percent, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
				done[minor] = within(percent)
			}
		}
	}
	for _, r := range resources {
		for _, p := range r.Peers {
			for i := range p.Devices {
				d, _ := r.Device(p.Devices[i].Volume)
				if percent, told := done[d.Minor]; told && p.Devices[i].Repl.Comparing() {
					p.Devices[i].Done = percent
				}
			}
		}
	}
}

// within takes a percentage that a tool told.
func within(percent float64) float64 { return max(0, min(100, percent)) }
