package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	adminv1 "rvol/proto/admin/v1"
)

// wrong lists the problems that the status names, without what to do.
func wrong(t *testing.T, change func(*world)) []string {
	t.Helper()
	s := newSession(t)
	s.fake.world.nodes, s.fake.world.cluster.Members = s.fake.world.nodes[:2], s.fake.world.cluster.Members[:2]
	change(&s.fake.world)
	if code := s.run(t.Context(), "status"); code != 0 {
		t.Fatalf("exit status %d: %s", code, s.err)
	}
	var list []string
	_, problems, _ := strings.Cut(s.out.String(), "\n") // after the verdict
	for line := range strings.Lines(problems) {
		if strings.Contains(line, " is ") && !strings.HasPrefix(line, " ") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

func TestWhatIsWrongIsNamedWorstFirst(t *testing.T) {
	space := func(w *world) *adminv1.PoolSpace { return w.lvgs[0].Spaces[1] }
	for name, c := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"nothing": {func(*world) {}, nil},
		"volumes": {func(w *world) {
			w.volumes[0].State, w.volumes[0].Message = "degraded", "1 of 2 copies are UpToDate"
			w.volumes[1].State, w.volumes[1].Message = "unavailable", "no quorum"
		}, []string{"volume db-2 is unavailable: no quorum", "volume db-1 is degraded: 1 of 2 copies are UpToDate"}},
		"a node that is silent": {func(w *world) {
			w.nodes[0].Ready, w.nodes[0].StatusReason = false, "no heartbeat for 15s"
		}, []string{"node n1 is NotReady: no heartbeat for 15s"}},
		"a thin pool fills": {
			func(w *world) { space(w).MetadataPercent = new(81.0) },
			[]string{"thin pool n1/vg0/tp0 is nearly full: data 12.3 %, metadata 81.0 %"},
		},
		"a thin pool is full": {
			func(w *world) { space(w).DataPercent, space(w).GrowthStopped = new(96.0), "data is 96.0 % full" },
			[]string{"thin pool n1/vg0/tp0 is full: growth stopped: data is 96.0 % full"},
		},
		"a volume group fills": {
			func(w *world) { w.lvgs[0].Spaces[0].Reserved = w.lvgs[0].Spaces[0].Limit },
			[]string{"lvg n1/vg0 is nearly full: 20 GiB of 20 GiB are reserved"},
		},
		"a volume without a place": {func(w *world) {
			w.volumes[1].State, w.volumes[1].Formed = "forming", false
			w.volumes[1].Replicas = []*adminv1.Replica{{
				Meta: newMeta("db-2/0"), Type: "Diskful",
				Conditions: []*adminv1.Condition{{Type: "Scheduled", Status: "False", Message: "3 candidates; 3 excluded: no capacity"}},
			}}
		}, []string{"volume db-2 is without a place: replica db-2/0: 3 candidates; 3 excluded: no capacity"}},
		"a volume group is gone": {func(w *world) {
			w.lvgs[0].Conditions = []*adminv1.Condition{{Type: "Ready", Status: "False", Message: "it is not there"}}
		}, []string{"lvg n1/vg0 is NotReady: it is not there"}},
		"nobody leads": {
			func(w *world) { w.cluster.Leader = "" },
			[]string{"cluster is without a leader: last heard of one 0s ago; nothing is decided, volumes go on"},
		},
		"after a restore": {
			func(w *world) { w.cluster.Reconciling = true },
			[]string{"cluster is reconciling: nothing is removed or given out after a restore"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, wrong(t, c.change)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheScreenIsOneScreen(t *testing.T) {
	s := newSession(t)
	for i := range 100 {
		v := sampleVolume(fmt.Sprintf("v-%d", i), "degraded")
		v.Transitions = []*adminv1.Transition{{Type: "AddReplica", Title: "add a copy"}}
		s.fake.world.volumes = append(s.fake.world.volumes, v)
	}
	if code := s.run(t.Context(), "status"); code != 0 {
		t.Fatalf("exit status %d: %s", code, s.err)
	}
	if n := strings.Count(s.out.String(), "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, s.out)
	}
	for _, want := range []string{"103 things need attention", "... and 95 more: rvol status -o yaml", "  ... and 93 more: rvol status -o yaml"} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, s.out)
		}
	}
}

func TestTopShowsTheStatusAnewWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watchFor10s(t, true, "top")
		pages := strings.Split(s.out.String(), "\x1b[H\x1b[2J")
		if len(pages) != 3 || !strings.Contains(pages[1], "db-2 is syncing") || strings.Contains(pages[2], "db-2") {
			t.Errorf("%d pages:\n%s", len(pages)-1, s.out)
		}
	})
}
