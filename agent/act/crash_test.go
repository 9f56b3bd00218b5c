package act_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"rvol/agent/decide"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// firstGenerations counts the commands that declare data to exist.
func (p *pair) firstGenerations() int {
	count := 0
	for _, n := range p.nodes {
		count += n.ran("new-current-uuid") + n.ran("--force 10000") + n.ran("primary 10000 --force")
	}
	return count
}

func (n *node) loseAndRegainPower() {
	n.t.Helper()
	if err := n.PowerOff(); err != nil {
		n.t.Fatal(err)
	}
	n.PowerOn()
}

// life is all of a volume's life, with an agent that may crash on the way.
func (p *pair) life() {
	p.Helper()
	p.form()
	p.nodes[0].give(func(d *decide.Desired) { d.Resources[0].Primary = true })
	p.until("Primary", func(n *node) bool { return n.Name == "b" || n.role() == drbd.Primary })
	p.nodes[0].give(func(d *decide.Desired) { d.Resources[0].Primary = false })
	p.until("Secondary", func(n *node) bool { return n.role() == drbd.Secondary })
	p.release()
	p.clean()
}

func TestAnAgentKilledAtAnyPointConverges(t *testing.T) {
	versions := map[string]drbd.Version{"8.4": drbdtest.V84, "9": drbdtest.V9}
	for _, kind := range []string{"8.4 thin killed", "8.4 thick power", "9 thin power", "9 thick killed"} {
		words := strings.Fields(kind)
		version, storage, loss := words[0], words[1], words[2] == "power"
		for victim := range 2 {
			t.Run(fmt.Sprintf("%s node %d", kind, victim), func(t *testing.T) {
				t.Parallel()
				points := 1
				for at := 0; at <= points; at++ {
					synctest.Test(t, func(t *testing.T) {
						p := newPair(t, versions[version], storage == "thin")
						defer p.end()
						n := p.nodes[victim]
						n.crash(at)
						if loss {
							n.after = func() { n.loseAndRegainPower() }
						}
						p.life()
						if at == 0 {
							points = len(n.points)
						}
						if at > 0 && len(n.points) < at {
							t.Errorf("there was no point %d to crash at", at)
						}
						if got := p.firstGenerations(); got != 1 {
							t.Errorf("first data generation made %d times", got)
						}
						if t.Failed() && at > 0 {
							t.Fatalf("after a crash at point %d: %s", at, n.points[at-1])
						}
					})
					if t.Failed() {
						return
					}
				}
				t.Logf("%d points", points)
			})
		}
	}
}
