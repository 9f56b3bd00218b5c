package scheduling_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// Among many candidates most are passed over unseen. What is told must be the same as if all were told.
func TestTheBestFewAreThoseOfTheWholeList(t *testing.T) {
	t.Parallel()
	nodes, _ := benchNodes(300)
	candidates := scheduling.Prepare(nodes)
	for _, topology := range []layout.Topology{layout.Ignored, layout.Zonal, layout.TransZonal} {
		for _, drbd := range []string{"", "9", "8.4", "10"} {
			for _, size := range []int64{1, benchSize, 3 << 40, 1 << 60} {
				in := scheduling.Input{
					Candidates: candidates, Topology: topology, Layout: layout.Formula(1, 1), Size: size, DRBD: drbd,
					VolumeAccess: scheduling.AccessLocal, AttachTo: []string{"node-00007", "node-00150"}, Mode: scheduling.Cases,
					Replicas: []scheduling.Replica{{ID: 0, Type: scheduling.Diskful}, {ID: 1, Type: scheduling.Diskful}, {ID: 2, Type: scheduling.TieBreaker}},
					Refused:  []scheduling.Place{{Node: "node-00150", LVG: "vg1"}},
				}
				t.Run(fmt.Sprintf("%s/%s/%d", topology, drbd, size), func(t *testing.T) { fewOfAll(t, in) })
				in.Refused, in.AttachTo = nil, nil
				t.Run(fmt.Sprintf("%s/%s/%d/plain", topology, drbd, size), func(t *testing.T) { fewOfAll(t, in) })
			}
		}
	}
}

func fewOfAll(t *testing.T, in scheduling.Input) {
	t.Helper()
	in.Explain = 10_000
	all := scheduling.Run(in)
	for _, few := range []int{1, 5, 17} {
		in.Explain = few
		for i, p := range scheduling.Run(in).Replicas {
			whole := all.Replicas[i].Diagnosis
			if len(whole.Alternatives) != whole.Candidates {
				t.Fatalf("%d alternatives of %d candidates", len(whole.Alternatives), whole.Candidates)
			}
			if diff := cmp.Diff(whole.Alternatives[:few], p.Diagnosis.Alternatives); diff != "" {
				t.Errorf("replica %d, the best %d (-of all +told):\n%s", p.ID, few, diff)
			}
			if p.Place != all.Replicas[i].Place || p.Chosen && !whole.Alternatives[0].Chosen {
				t.Errorf("replica %d is placed on %v, the best of all is %+v", p.ID, p.Place, whole.Alternatives[0])
			}
		}
	}
}
