//go:build kernellab

package deploy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/deploy/deploytest"
	"rvol/drbd"
)

// TestWorkEndsWhicheverNodeLosesItsPower takes the power of each node in turn while volumes are made, attached, grown, moved and deleted
// there, all at one time: all of it ends, nothing that was acknowledged is lost, and nothing is left. Work that was not under way when
// the power went does not count: it is begun again for another loss.
func TestWorkEndsWhicheverNodeLosesItsPower(t *testing.T) {
	t.Parallel()
	f := &failover{T: t, Cluster: deploytest.Up(t, bin, 3)}
	for i, n := range f.Nodes {
		f.rvol("lvg create " + n + " vg0 --wait")
		f.rvol("class create with-" + n + " --zone " + deploy.Zone(n) + "," + deploy.Zone(f.Nodes[(i+1)%3]) + powerClass)
	}
	f.rvol("class create any" + powerClass)
	for round := range max(3, roundsOf(t)) {
		missed := []string{"create", "attach", "attach beside", "resize", "move", "delete"}
		for try := range 5 {
			if len(missed) > 0 {
				missed = f.losesPower(round, try, missed)
			}
		}
		if len(missed) > 0 {
			t.Fatalf("never under way when the power of %s went: %q", f.Nodes[round%3], missed)
		}
	}
}

// powerClass is of volumes that are filled slowly, and notice quickly who is gone.
const powerClass = " --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed --drbd resync-rate=8M --drbd c-min-rate=8M --drbd ping-int=2 --drbd connect-int=2"

// loss is one loss of power, and what is going on meanwhile.
type loss struct {
	*failover

	lost, other          string // nodes; volumes have their copies there
	stays, leaves, joins string // the nodes, as the move has them
	suffix               string // of the volumes' names
	works                []*work
	users                []*user
	kernel               map[string]drbd.Resource // of the other node, after the loss
}

// user is a node that uses a volume, and writes to it.
type user struct {
	failover

	node, copy string // the other copy is there in the end
	written    *writer
	stop       context.CancelFunc
}

// losesPower lets a node lose it, and tells what was not under way then.
func (f *failover) losesPower(round, try int, kinds []string) (missed []string) {
	f.Helper()
	l, third := f.lossOf(round, try)
	grower, idle, leader := l.other, l.lost, third
	if round%3 == 2 {
		grower, idle, leader = l.lost, l.other, l.lost
	}
	for _, w := range []*work{l.moves(), l.made(), l.grows(grower, idle), l.deleted(), l.used("attach", l.lost), l.used("attach beside", l.other)} {
		if slices.Contains(kinds, w.kind) {
			l.works = append(l.works, w)
		}
	}
	l.prepare(third)
	f.rvol("cluster transfer-leadership " + leader)
	f.eventually("LEADER +"+leader, "cluster status")
	l.begin()
	missed = l.cut()
	l.settle()
	l.nothingIsLost()
	l.nothingIsLeft()
	return missed
}

// lossOf says which node loses its power, and which part it has in the move.
func (f *failover) lossOf(round, try int) (l *loss, third string) {
	l = &loss{failover: f, suffix: fmt.Sprintf("-%d-%d", round+1, try+1)}
	l.lost, l.other, third = f.Nodes[round%3], f.Nodes[(round+1)%3], f.Nodes[(round+2)%3]
	parts := [][3]string{{l.lost, l.other, third}, {l.other, l.lost, third}, {l.other, third, l.lost}}[(round+round/3)%3]
	l.stays, l.leaves, l.joins = parts[0], parts[1], parts[2]
	return l, third
}

// prepare makes what the work is about, and lets it be used.
func (l *loss) prepare(third string) {
	l.Helper()
	without := third
	if l.joins == l.lost {
		without = l.lost
	}
	for _, w := range l.works {
		switch w.kind {
		case "create":
		case "move":
			l.rvol("node cordon " + without)
			l.rvol("volume create " + w.volume + " --size 32MiB --class any --wait")
			l.rvol("node uncordon " + without)
			w.line = l.moveLine(l.volumes()[w.volume])
		default:
			l.rvol("volume create " + w.volume + " --size 32MiB --class with-" + l.lost)
		}
	}
	l.until("all volumes are ready", func(all map[string]volume) string {
		for _, v := range all {
			if !v.rests() {
				return fmt.Sprintf("%+v", v)
			}
		}
		return ""
	})
	for _, w := range l.works {
		if w.user != "" {
			l.uses(w)
		}
	}
}

// uses attaches a volume, and writes to it.
func (l *loss) uses(w *work) {
	l.Helper()
	l.rvol("volume attach " + w.volume + " " + w.user + " --wait")
	u := &user{failover: failover{T: l.T, Cluster: l.Cluster, volume: w.volume, last: -1}, node: w.user, copy: w.copy}
	u.begin()
	l.users = append(l.users, u)
}

// begin begins to write.
func (u *user) begin() {
	u.Helper()
	ctx, stop := context.WithCancel(u.Context())
	u.stop, u.written = stop, u.write(ctx, u.node)
	u.written.reaches(u.T, 20)
}

// begin begins all work, each at an instant of its own.
func (l *loss) begin() {
	l.Helper()
	errs := make([]error, len(l.works))
	var all sync.WaitGroup
	for i, w := range l.works {
		all.Go(func() {
			time.Sleep(w.after) // any moment is as good
			_, errs[i] = l.Client.Text(l.Context(), strings.Fields(w.line)...)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			l.Fatal(err)
		}
	}
}

// cut takes the power and gives it back at once. What those who are left know to have ended by then was not under way.
func (l *loss) cut() (missed []string) {
	l.Helper()
	if err := l.World.Kill(l.Context(), l.lost); err != nil {
		l.Fatal(err)
	}
	gone := time.Now()
	booted := make(chan error, 1)
	go func() { booted <- l.World.Start(l.Context(), l.lost) }()
	l.kernel = l.resources(l.other)
	now := l.volumes()
	var told []string
	for _, w := range l.works {
		if at := w.underWay(now[w.volume]); at != "" {
			told = append(told, w.kind+" at "+at)
		} else {
			missed = append(missed, w.kind)
		}
	}
	for _, u := range l.users {
		if u.node != l.lost { // it is let go on alone
			last, _ := u.written.reached()
			u.written.reaches(l.T, last+20)
		}
	}
	if err := <-booted; err != nil {
		l.Fatal(err)
	}
	l.Logf("%s lost its power during %s; missed: %q; %.1f s later it runs again, and who writes elsewhere goes on",
		l.lost, strings.Join(told, ", "), missed, time.Since(gone).Seconds())
	return missed
}

// settle waits until all work has ended as it should. What was given up is begun again.
func (l *loss) settle() {
	l.Helper()
	begun := time.Now()
	again := map[*work]int{}
	l.until("all work has ended", func(all map[string]volume) string {
		for _, w := range l.works {
			v := all[w.volume]
			if w.done(v) {
				continue
			}
			if w.givenUp(v) && again[w] < 3 {
				again[w]++
				out, code := l.run(w.line)
				l.Logf("%s was given up; again: exit status %d: %s", w.kind, code, strings.TrimSpace(out))
			}
			return fmt.Sprintf("%s: %+v", w.kind, v)
		}
		return ""
	})
	l.Logf("all had ended %.1f s after that", time.Since(begun).Seconds())
}

// nothingIsLost looks on both copies for all that was acknowledged.
func (l *loss) nothingIsLost() {
	l.Helper()
	for _, u := range l.users {
		survived := u.node != l.lost
		u.stop()
		if u.last = u.written.end(); survived {
			u.stopWriting(u.node)
		}
		u.check(u.node)
		u.rvol("volume detach " + u.volume + " " + u.node + " --wait")
		u.rvol("volume attach " + u.volume + " " + u.copy + " --wait")
		u.check(u.copy)
		u.Logf("all %d acknowledged blocks of %s are on %s and %s", u.last+1, u.volume, u.node, u.copy)
	}
}

// nothingIsLeft sees that data was made out of nothing once, deletes everything, and looks whether it is gone.
func (l *loss) nothingIsLeft() {
	l.Helper()
	for _, w := range l.works {
		if w.kind == "create" {
			l.bornOnce(w.volume)
		}
	}
	for name, v := range l.volumes() {
		for _, a := range v.Attachments {
			l.rvol("volume detach " + name + " " + a.Node + " --wait")
		}
		l.rvol("volume delete " + name + " --yes")
	}
	l.until("everything is deleted", func(all map[string]volume) string { return strings.Join(names(all), ", ") })
	for _, n := range l.Nodes {
		held, err := deploy.Scripted{Cluster: l.Cluster}.Holds(l.Context(), n)
		if err != nil {
			l.Fatal(err)
		}
		if strings.Contains(held, "rvol-") {
			l.Errorf("%s still holds\n%s", n, held)
		}
	}
	if out := l.rvol("lvg list -o json"); strings.Contains(out, `"owner"`) {
		l.Errorf("something is still charged:\n%s", out)
	}
	l.clean()
}

// bornOnce wants one first data generation: one operation, and the kernel that was not lost has heard of no more.
func (l *loss) bornOnce(name string) {
	l.Helper()
	var ops []struct{ Type, Volume, Phase, Result string }
	if err := l.Client.Read(l.Context(), &ops, "operation", "list"); err != nil {
		l.Fatal(err)
	}
	ops = slices.DeleteFunc(ops, func(o struct{ Type, Volume, Phase, Result string }) bool { return o.Volume != name })
	heard := l.on(l.other, "journalctl -k -o cat --no-pager | grep -c 'rvol-"+name+"/0 .*reparing to skip initial sync' || true")
	if len(ops) != 1 || heard != "1" {
		l.Errorf("%s: %s has heard of %s first data generations, want 1; operations: %+v", name, l.other, heard, ops)
	}
}

// clean waits until rvol finds no promise broken.
func (l *loss) clean() {
	l.Helper()
	var out string
	for range 300 {
		var code int
		if out, code = l.run("cluster check"); code == 0 {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	l.Errorf("rvol cluster check:\n%s", out)
}
