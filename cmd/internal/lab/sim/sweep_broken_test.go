package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// mending is one way out of what does not heal by itself, for a volume whose copies are 0 on n2
// and 1 on n3.
type mending struct {
	name    string
	victims []string
	prepare func(m *mender)            // all volumes, before the first is mended
	spoil   func(m *mender, at string) // one volume
	rvol    string                     // what mends it, but for the volume's name
	still   func(m *mender) string     // why it is not mended; empty: it is
	whole   func(m *mender, at string) // holds what it is to hold
}

var mendings = []mending{
	{
		name: "verify", victims: []string{"n2", "n3"}, rvol: "verify %s --repair --from 0 --wait", still: (*mender).differs, whole: (*mender).wholeAfterVerify,
		prepare: func(m *mender) { m.form("v1") },
		spoil: func(m *mender, _ string) {
			m.ok(m.s.Corrupt(m.t.Context(), "n3", "vg0/rvol-v1.0.1", 1<<20, []byte("never written by anybody")))
		},
	},
	{
		name: "resolve", victims: []string{"n2", "n3"}, rvol: "resolve %s --keep 0 --yes-i-mean %[1]s", still: (*mender).torn, whole: (*mender).wholeAfterResolve,
		prepare: func(m *mender) { m.form("v1") },
		spoil:   (*mender).tear,
	},
	{
		name: "recover", victims: []string{"n3"}, rvol: "recover %s --from 1 --yes-i-mean %[1]s", still: (*mender).notRecovered, whole: (*mender).wholeAfterRecover,
		prepare: (*mender).loseTheBetterCopies, spoil: func(*mender, string) {},
	},
}

// sampled is how many points are left out between two that are tried, unless RVOL_SWEEP is whole.
const sampled = 4

// TestWhatMendsMayDieBetweenAnyTwoSteps ends the agents that verify, resolve and recover a volume,
// or takes the power of their nodes, at the points that they pass. Each time it is said again
// until it is done, as people would, and the volume is then what it was to be.
func TestWhatMendsMayDieBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	for _, version := range []drbd.Version{drbdtest.V84, drbdtest.V9} {
		for _, what := range mendings {
			for i, victim := range what.victims {
				for _, power := range []bool{false, true} {
					if whole := os.Getenv("RVOL_SWEEP") == "whole"; !whole && power != (version.Is84() == (i == 0)) {
						continue // each victim and each loss has its turn on one version
					}
					t.Run(fmt.Sprintf("%s on %s of DRBD %s, power lost %t", what.name, victim, version.Kernel, power), func(t *testing.T) {
						t.Parallel()
						dir, err := tempRoot()
						if err != nil {
							t.Fatal(err)
						}
						defer func() { _ = os.RemoveAll(dir) }() // memory of this test
						log := logTo(t, filepath.Join(t.ArtifactDir(), "sweep.log"))
						synctest.Test(t, func(t *testing.T) {
							c := &crasher{}
							cl, err := New(Config{Dir: dir, Nodes: 3, Coordinators: 1, DRBD: version, Version: "test", Log: log, Hook: c.hook})
							if err != nil {
								t.Fatal(err)
							}
							defer func() { _ = cl.Close() }() // what failed before is what counts
							m := &mender{t: t, s: NewScripted(cl), mending: what, crasher: c, victim: victim, power: power}
							m.sweep()
						})
					})
				}
			}
		}
	}
}

// mender sweeps over the points of one mending.
type mender struct {
	mending
	*crasher

	t       *testing.T
	s       *Scripted
	volumes []string
	victim  string
	power   bool
	mended  int // volumes, or times
}

func (m *mender) sweep() {
	m.t.Helper()
	m.ok(m.s.Cluster.Start(m.t.Context()))
	for _, line := range []string{
		"lvg create n2 vg0", "lvg create n3 vg0",
		"class create r2 --ftt 0 --gmdr 1 --type LVM --vg vg0 --trust-zeroed --drbd c-plan-ahead=0 --drbd resync-rate=1M",
	} {
		must(m.t, m.s, line)
	}
	m.prepare(m)
	first, stride := 1+len(m.name)%sampled, sampled // not the same points for each
	if os.Getenv("RVOL_SWEEP") == "whole" {
		first, stride = 1, 1
	}
	for point := first; point <= most; point += stride {
		at := fmt.Sprintf("before point %d", point)
		m.spoil(m, at)
		m.at(m.victim, point)
		m.mend()
		if at = m.where(); at == "" {
			at = "without a crash"
		}
		m.whole(m, at)
		m.mended++
		if m.where() == "" {
			if m.mended == 1 {
				m.t.Fatalf("not even %d points were passed", point)
			}
			m.t.Logf("%d points were tried, and there are less than %d", m.mended-1, point)
			return
		}
	}
	m.t.Fatalf("more than %d points", most)
}

// volume is the one that is to be mended now.
func (m *mender) volume() string { return m.volumes[m.mended%len(m.volumes)] }

// mend says what mends until it has, and brings the victim back when it dies meanwhile.
func (m *mender) mend() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	var reviving sync.WaitGroup
	reviving.Go(func() { m.revive(ctx) })
	defer reviving.Wait()
	defer cancel()
	said, why := "", ""
	for range 20 {
		said = m.say(fmt.Sprintf("volume "+m.rvol, m.volume()))
		if why = m.patience(); why != "" {
			continue
		}
		m.at("", 0)
		cancel()
		reviving.Wait() // who died at the very end comes back, and all is well still
		if why = m.patience(); why == "" {
			return
		}
	}
	m.t.Fatalf("killed %q, %s is not mended:\n%s\n%s\n%s", m.where(), m.volume(), said, why, m.say("volume show "+m.volume()))
}

// patience waits for a while until it is mended.
func (m *mender) patience() (why string) {
	for range 60 {
		if why = m.still(m); why == "" {
			return ""
		}
		time.Sleep(time.Second)
	}
	return why
}

// at arms the crash, but for the first words of where it happened, which stay.
func (m *mender) at(node string, n int) {
	if n > 0 {
		m.crasher.at(node, n)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = 0
}

// revive brings the victim back once.
func (m *mender) revive(ctx context.Context) {
	for m.where() == "" && ctx.Err() == nil {
		select {
		case <-ctx.Done(): // it may have died on the last point
		case <-time.After(100 * time.Millisecond):
		}
	}
	if m.where() == "" {
		return
	}
	n, err := m.s.Node(m.victim)
	if err == nil && m.power {
		err = n.Kill()
		time.Sleep(5 * time.Second)
		err = errors.Join(err, n.Boot())
	} else if err == nil {
		n.stopAgent() // it has ended, or is about to
		err = n.startAgent()
	}
	if err != nil {
		m.t.Error(err)
	}
}

// say runs a command, however it ends.
func (m *mender) say(line string) string {
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
	defer cancel()
	code := m.s.Rvol(ctx, &out, &out, strings.Fields(line))
	return fmt.Sprintf("> rvol %s\n%sexit status %d\n", line, out.String(), code)
}

func (m *mender) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// known is what both copies of each volume hold before anything goes wrong.
const known = "known to both"

func (m *mender) form(volume string) {
	m.t.Helper()
	m.volumes = append(m.volumes, volume)
	must(m.t, m.s, "volume create "+volume+" --size 4MiB --class r2 --wait")
	must(m.t, m.s, "volume attach "+volume+" n2 --wait")
	m.ok(m.s.Write(m.t.Context(), "n2", volume, 1<<20, []byte(known)))
	must(m.t, m.s, "volume detach "+volume+" n2 --wait")
}

// holds compares what the disk under a copy has.
func (m *mender) holds(node, lv string, offset int64, want, at string) {
	m.t.Helper()
	n, err := m.s.Node(node)
	m.ok(err)
	d, err := n.LVM.Open("/dev/vg0/" + lv)
	m.ok(err)
	defer func() { _ = d.Close() }() // memory
	got := make([]byte, len(want))
	_, err = d.ReadAt(got, offset)
	m.ok(err)
	if string(got) != want {
		m.t.Fatalf("killed %q, then %s on %s holds %q, want %q", at, lv, node, got, want)
	}
}

// both wants the same on both disks.
func (m *mender) both(offset int64, want, at string) {
	m.t.Helper()
	m.holds("n2", "rvol-v1.0.0", offset, want, at)
	m.holds("n3", "rvol-v1.0.1", offset, want, at)
}

func (m *mender) differs() string {
	if is := m.say("volume show v1"); !strings.Contains(is, "Repaired") && !strings.Contains(is, "NoDifference") {
		return is
	}
	if said := m.say("volume verify v1 --wait"); !strings.Contains(said, "all copies are the same") {
		return said
	}
	return ""
}

func (m *mender) wholeAfterVerify(at string) {
	m.t.Helper()
	m.both(1<<20, known, at)
}

// tear lets both copies be written alone, behind the back of everybody who would prevent it.
func (m *mender) tear(at string) {
	m.t.Helper()
	for _, n := range []string{"n2", "n3"} {
		m.ok(m.s.StopAgent(n))
	}
	m.ok(m.s.Cut("n2", "n3", false))
	for i, n := range []string{"n2", "n3"} {
		node, err := m.s.Node(n)
		m.ok(err)
		object := []string{"10000"}
		if !m.s.DRBD.Is84() {
			object[0] = "rvol-v1"
			_, err = m.s.Tool(m.t.Context(), n, []string{"drbdsetup", "resource-options", "rvol-v1", "--quorum=off"})
			m.ok(err)
		}
		_, err = m.s.Tool(m.t.Context(), n, append([]string{"drbdsetup", "primary"}, append(object, "--force")...))
		m.ok(err)
		m.ok(node.DRBD.Write(m.t.Context(), 10000, int64(i+1)<<16, []byte(n+" alone "+at)))
		_, err = m.s.Tool(m.t.Context(), n, append([]string{"drbdsetup", "secondary"}, object...))
		m.ok(err)
	}
	for _, n := range []string{"n2", "n3"} {
		m.ok(m.s.StartAgent(n))
	}
	m.ok(m.s.Heal())
	for range 300 {
		if strings.Count(m.say("volume resolve v1"), "(both written)") == 2 {
			return
		}
		time.Sleep(time.Second)
	}
	m.t.Fatalf("%s nobody sees the split brain:\n%s", at, m.say("volume show v1"))
}

func (m *mender) torn() string {
	is := m.say("volume list")
	if strings.Contains(m.say("volume show v1"), "SplitBrain") || !strings.Contains(is, "ready") {
		return is
	}
	return ""
}

func (m *mender) wholeAfterResolve(at string) {
	m.t.Helper()
	m.both(1<<20, known, at)
	n, err := m.s.Node("n2")
	m.ok(err)
	d, err := n.LVM.Open("/dev/vg0/rvol-v1.0.0")
	m.ok(err)
	defer func() { _ = d.Close() }() // memory
	for _, offset := range []int64{1 << 16, 2 << 16} {
		kept := make([]byte, 32)
		_, err = d.ReadAt(kept, offset)
		m.ok(err)
		if strings.HasPrefix(string(kept), "n2 alone") != (offset == 1<<16) {
			m.t.Fatalf("killed %q, then what was kept holds %q at %d", at, kept, offset)
		}
		m.holds("n3", "rvol-v1.0.1", offset, string(kept), at)
	}
}

// recovered is how many volumes are recovered at most.
const recovered = 40

// loseTheBetterCopies makes volumes whose copies on n3 are half filled, and n2 is gone for good.
func (m *mender) loseTheBetterCopies() {
	m.t.Helper()
	for i := range recovered {
		if os.Getenv("RVOL_SWEEP") != "whole" && i > recovered/sampled {
			break
		}
		m.form(fmt.Sprintf("v%d", i+1))
	}
	for i := range m.volumes {
		_, err := m.s.Tool(m.t.Context(), "n3", []string{"drbdsetup", "invalidate", fmt.Sprint(10000 + i)})
		m.ok(err)
	}
	m.ok(m.s.Kill("n2"))
	for !strings.Contains(must(m.t, m.s, "node list"), "NotReady") {
		time.Sleep(time.Second)
	}
	must(m.t, m.s, "node lost n2 --yes-i-mean n2 --accept-stale")
}

func (m *mender) notRecovered() string {
	if is := m.say("replica list"); !regexp.MustCompile(m.volume() + `/1 .*UpToDate`).MatchString(is) {
		return is
	}
	return ""
}

func (m *mender) wholeAfterRecover(at string) {
	m.t.Helper()
	v := m.volume()
	must(m.t, m.s, fmt.Sprintf("replica remove %s/0 --force --yes-i-mean %[1]s/0 --wait", v))
	must(m.t, m.s, "volume attach "+v+" n3 --wait")
	got, err := m.s.Read(m.t.Context(), "n3", v, 1<<20, int64(len(known)))
	if err != nil || string(got) != known {
		m.t.Fatalf("killed %q, then %s holds %q, %v, want %q", at, v, got, err, known)
	}
	must(m.t, m.s, "volume detach "+v+" n3 --wait")
}
