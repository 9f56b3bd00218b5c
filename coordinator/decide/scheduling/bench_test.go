package scheduling_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// The bare scan is what a decision cannot do without: look at every place once and ask whether it can be used and
// whether the replica fits.
type bare struct {
	nodeReady, lvgReady bool
	available           int64
}

const benchSize = 100 << 30

func benchNodes(n int) ([]scheduling.Node, []bare) {
	const gib = 1 << 30
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	nodes, flat := make([]scheduling.Node, n), make([]bare, 0, 4*n)
	for i := range nodes {
		node := scheduling.Node{
			Name: fmt.Sprintf("node-%05d", i), Zone: fmt.Sprintf("zone-%d", i%3),
			Ready: rng.IntN(20) > 0, AgentReady: true, DRBD: []string{"9", "8.4"}[rng.IntN(10)/9],
		}
		for j := range 4 {
			total := int64(1000+rng.IntN(9000)) * gib
			available := rng.Int64N(total)
			lvg := scheduling.LVG{
				Name: fmt.Sprintf("vg%d", j), Ready: rng.IntN(50) > 0, Capacity: scheduling.Room(available, total),
			}
			node.LVGs = append(node.LVGs, lvg)
			flat = append(flat, bare{nodeReady: node.Ready, lvgReady: lvg.Ready, available: available})
		}
		nodes[i] = node
	}
	return nodes, flat
}

// BenchmarkDecision measures both in turns and reports the ratio of their medians: the budget is 4.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		nodes, flat := benchNodes(n)
		candidates := scheduling.Prepare(nodes)
		for _, t := range []layout.Topology{layout.Ignored, layout.Zonal, layout.TransZonal} {
			in := scheduling.Input{
				Candidates: candidates, Topology: t, Layout: layout.Formula(0, 0), Size: benchSize,
				VolumeAccess: scheduling.AccessPreferablyLocal, DRBD: "9", Explain: 5,
				Replicas: []scheduling.Replica{{ID: 0, Type: scheduling.Diskful}},
			}
			b.Run(fmt.Sprintf("%s/%d", t, n), func(b *testing.B) {
				b.ReportAllocs()
				var scans, decisions []time.Duration
				for b.Loop() {
					for range rounds {
						start := time.Now()
						fit := scan(flat, benchSize)
						between := time.Now()
						placed := scheduling.Run(in).Replicas[0].Chosen
						scans, decisions = append(scans, between.Sub(start)), append(decisions, time.Since(between))
						if fit == 0 || !placed {
							b.Fatal("nothing fits")
						}
					}
				}
				ratio := float64(median(decisions)) / float64(median(scans))
				report(fmt.Sprintf("decision-%d-%s", n, t), ratio)
				b.ReportMetric(ratio, "ratio")
				b.ReportMetric(float64(median(decisions)), "ns/decision")
				b.ReportMetric(float64(median(scans)), "ns/scan")
			})
		}
	}
}

// rounds are the turns of one measurement, and the budget of their ratio.
const (
	rounds = 101
	budget = 4
)

// report prints a ratio at the beginning of a line.
func report(name string, ratio float64) {
	verdict := "ok"
	if ratio > budget {
		verdict = "over"
	}
	_, _ = fmt.Fprintf(os.Stdout, "\nRATIO %s %.2f budget %d %s\n", name, ratio, budget, verdict) // nobody to tell
}

func BenchmarkPrepare(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		nodes, _ := benchNodes(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				scheduling.Prepare(nodes)
			}
		})
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

//go:noinline
func scan(places []bare, size int64) (fit int) {
	for i := range places {
		if p := &places[i]; p.nodeReady && p.lvgReady && p.available >= size {
			fit++
		}
	}
	return fit
}
