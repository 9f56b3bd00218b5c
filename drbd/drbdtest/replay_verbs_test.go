package drbdtest_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"rvol/drbd"
)

// line does what one line of a script says. A number is a recording; one with a tilde
// has bits set that an earlier session left behind, and which are not compared.
func (r *replay) line(words []string) {
	r.Helper()
	if strings.Trim(words[0], "~0123456789") == "" {
		for _, number := range words {
			r.bits = !strings.HasPrefix(number, "~")
			r.recording(strings.TrimPrefix(number, "~"))
		}
		return
	}
	do, ok := verbs[words[0]]
	if !ok {
		r.Fatalf("%s: no verb %q", r.at, words[0])
	}
	do(r, words[1:])
}

// verbs are what happens to the nodes besides recorded commands.
var verbs = map[string]func(*replay, []string){
	// up NODE...: bring the resource up and let it come to rest.
	"up": func(r *replay, names []string) {
		for _, n := range names {
			r.ok(r.tool(n).Up(r.Context(), r.ref()))
		}
		time.Sleep(settle)
	},
	// fresh NODE...: new disks with new metadata, the resource down.
	"fresh": func(r *replay, names []string) {
		for _, n := range names {
			r.ok(r.tool(n).Down(r.Context(), r.resource))
			size := r.disks[n].Disk(device).Size()
			r.disks[n].Create(device, size)
			r.ok(r.tool(n).CreateMD(r.Context(), r.meta(), drbd.MaxPeers))
		}
	},
	// blank NODE SIZE: a disk without metadata.
	"blank": func(r *replay, w []string) { r.disks[w[0]].Create(device, r.bytes(w[1])) },
	"grow":  func(r *replay, w []string) { r.disks[w[0]].Disk(device).Resize(r.bytes(w[1])) },
	// break NODE: its disk fails; mend: it works again.
	"break": func(r *replay, w []string) { r.disks[w[0]].Disk(device).Fail(errors.New("I/O error")) },
	"mend":  func(r *replay, w []string) { r.disks[w[0]].Disk(device).Fail(nil) },
	// run NODE COMMAND: a command of which there is no recording.
	"run": func(r *replay, w []string) {
		if _, refusal := r.command(w[0], w[1:]); refusal != nil {
			r.Errorf("%s: %v", r.at, refusal)
		}
	},
	// mesh NODE HOSTS...: the node's file knows these hosts.
	"mesh": func(r *replay, w []string) {
		var hosts []drbd.Host
		for _, h := range r.hosts {
			if slices.Contains(w[1:], h.Name) {
				hosts = append(hosts, h)
			}
		}
		r.file(w[0], hosts)
	},
	"cut":      func(r *replay, w []string) { r.fabric.Cut(w[0], w[1]) },
	"isolate":  func(r *replay, w []string) { r.fabric.Isolate(w[0]) },
	"join":     func(r *replay, w []string) { r.fabric.HealLink(w[0], w[1]) },
	"heal":     func(r *replay, _ []string) { r.fabric.Heal() },
	"poweroff": func(r *replay, w []string) { r.node(w[0]).PowerOff() },
	"poweron":  func(r *replay, w []string) { r.node(w[0]).PowerOn() },
	"settle":   func(*replay, []string) { time.Sleep(settle) },
	"sleep": func(r *replay, w []string) {
		d, err := time.ParseDuration(w[0])
		r.ok(err)
		time.Sleep(d)
	},
	// write NODE OFFSET LENGTH; writing does not wait, ended waits for all of those.
	"write": func(r *replay, w []string) { r.ok(r.write(w[0], r.bytes(w[1]), r.bytes(w[2]))) },
	"writing": func(r *replay, w []string) {
		done := make(chan error, 1)
		r.pending = append(r.pending, done)
		go func() { done <- r.write(w[0], r.bytes(w[1]), r.bytes(w[2])) }()
		time.Sleep(time.Millisecond)
	},
	"ended": func(r *replay, _ []string) { r.ended() },
	// unwritten NODE: a write fails with an I/O error.
	"unwritten": func(r *replay, w []string) {
		if err := r.write(w[0], 0, 4096); err == nil {
			r.Errorf("%s: written", r.at)
		}
	},
	// corrupt NODE OFFSET LENGTH: other bytes, behind DRBD's back.
	"corrupt": func(r *replay, w []string) {
		_, err := r.disks[w[0]].Disk(device).WriteAt([]byte(strings.Repeat("x", int(r.bytes(w[2])))), r.bytes(w[1]))
		r.ok(err)
	},
	"hold": func(r *replay, w []string) {
		release, err := r.node(w[0]).Open(r.minor, "mount")
		r.ok(err)
		r.holds[w[0]] = release
	},
	"release": func(r *replay, w []string) { r.holds[w[0]]() },
}
