package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"rvol/coordinator/control"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// The admin API of a test: volumes as given, and nothing else.
type (
	fakeVolumes struct {
		adminv1.UnimplementedVolumesServer
		all []*adminv1.Volume
	}
	fakeNodes struct {
		adminv1.UnimplementedNodesServer
	}
	fakeLVGs struct {
		adminv1.UnimplementedLVGsServer
	}
	fakeOps struct {
		adminv1.UnimplementedOperationsServer
	}
)

func (f fakeVolumes) List(context.Context, *adminv1.ListRequest) (*adminv1.ListVolumesResponse, error) {
	return &adminv1.ListVolumesResponse{Volumes: f.all}, nil
}

func (fakeNodes) List(context.Context, *adminv1.ListRequest) (*adminv1.ListNodesResponse, error) {
	return &adminv1.ListNodesResponse{Nodes: []*adminv1.Node{{
		Meta:       &adminv1.Meta{Name: "n1"},
		Conditions: []*adminv1.Condition{{Type: "IOFlows", Status: "False"}, {Type: "whatever an agent says", Status: "False"}},
	}}}, nil
}

func (fakeLVGs) List(context.Context, *adminv1.ListRequest) (*adminv1.ListLVGsResponse, error) {
	return nil, errors.New("not now")
}

func (fakeOps) List(context.Context, *adminv1.ListRequest) (*adminv1.ListOperationsResponse, error) {
	return &adminv1.ListOperationsResponse{}, nil
}

func read(volumes int, leading bool, all ...*adminv1.Volume) *Metrics {
	m := New("test")
	m.Read(Config{
		Volumes: volumes, Store: state.NewStore(state.Options{}), Inventory: inventory.New(), Log: slog.New(slog.DiscardHandler),
		Admin: func(r grpc.ServiceRegistrar) {
			adminv1.RegisterVolumesServer(r, fakeVolumes{all: all})
			adminv1.RegisterNodesServer(r, fakeNodes{})
			adminv1.RegisterLVGsServer(r, fakeLVGs{})
			adminv1.RegisterOperationsServer(r, fakeOps{})
		},
		Member: func() (Member, error) { return Member{Leading: leading}, nil },
		Expiry: func() (certificate, ca time.Time) { return certificate, ca },
	})
	return m
}

// series are what is told under a name, by labels.
func series(t *testing.T, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	all, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			out[strings.Join(labels, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func volume(name, state string) *adminv1.Volume {
	return &adminv1.Volume{Meta: &adminv1.Meta{Name: name}, State: state}
}

func TestALimitHidesNoVolumeThatIsNotWell(t *testing.T) {
	m := read(2, true, volume("a", "ready"), volume("b", "ready"), volume("c", "degraded"), volume("d", "ready"))
	want := map[string]float64{"degraded c": 1, "ready a": 1}
	if diff := cmp.Diff(want, series(t, m.Gatherer(), "rvol_volume_state")); diff != "" {
		t.Error(diff)
	}
	if got := series(t, m.Gatherer(), "rvol_metrics_volumes_left_out")[""]; got != 2 {
		t.Errorf("%v volumes are said to be left out, want 2", got)
	}
	if got := series(t, m.Gatherer(), "rvol_volumes")["ready"]; got != 3 {
		t.Errorf("%v volumes are ready, want 3: sums know no limit", got)
	}
}

func TestWhatAnAgentSaysIsNoLabel(t *testing.T) {
	got := series(t, read(1, true).Gatherer(), "rvol_node_condition_false")
	if diff := cmp.Diff(map[string]float64{"IOFlows n1": 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	if got := series(t, read(1, true).Gatherer(), "rvol_metrics_incomplete")[""]; got != 1 {
		t.Errorf("incomplete is %v, though the space is not known", got)
	}
	if got := series(t, read(1, false).Gatherer(), "rvol_metrics_incomplete"); len(got) != 0 {
		t.Errorf("a follower tells of the cluster: %v", got)
	}
}

func TestStandAlone(t *testing.T) {
	diskful := func(connection string) *adminv1.Replica {
		return &adminv1.Replica{Meta: &adminv1.Meta{}, Type: "Diskful", Connection: connection}
	}
	for name, tc := range map[string]struct {
		formed   bool
		replicas []*adminv1.Replica
		want     float64
	}{
		"connected":                {true, []*adminv1.Replica{diskful("Connected"), diskful("Connected")}, 0},
		"a peer that is not there": {true, []*adminv1.Replica{diskful("Connecting"), diskful("Unknown")}, 0},
		"both gave up":             {true, []*adminv1.Replica{diskful("StandAlone"), diskful("StandAlone")}, 2},
		"both gave up on DRBD 8.4, which is silent": {true, []*adminv1.Replica{diskful("-"), diskful("-")}, 2},
		"a single copy has nobody to connect to":    {true, []*adminv1.Replica{diskful("-")}, 0},
		"forming: not connected yet":                {false, []*adminv1.Replica{diskful("-"), diskful("-")}, 0},
	} {
		v := volume("a", "ready")
		v.Formed, v.Replicas = tc.formed, tc.replicas
		if got := series(t, read(1, true, v).Gatherer(), "rvol_volume_standalone_replicas")["a"]; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

type proposerFunc func() error

func (p proposerFunc) Propose(context.Context, state.Txn) (uint64, error) { return 1, p() }

func TestTransactionsAreCountedByWhatBecameOfThem(t *testing.T) {
	m := New("test")
	for _, err := range []error{
		nil, nil, fmt.Errorf("place: %w", model.ErrNoSpace), &model.Refusal{Constraint: model.ConstraintExpect, Asked: 3},
		&model.NotLeaderError{}, model.ErrUnknown, errors.New("the disk is on fire"),
	} {
		if _, got := m.Proposer(proposerFunc(func() error { return err })).Propose(t.Context(), state.Txn{}); !errors.Is(got, err) {
			t.Errorf("got %v, want %v: who counts changes nothing", got, err)
		}
	}
	want := map[string]float64{"taken": 2, "no_space": 1, "conflict": 1, "unavailable": 1, "unknown": 1, "failed": 1}
	if diff := cmp.Diff(want, series(t, m.Gatherer(), "rvol_transactions_total")); diff != "" {
		t.Error(diff)
	}
}

func TestControllersAreToldWhileTheyRun(t *testing.T) {
	m := New("test")
	end := m.Controllers().Queue("volume", func() (int, int) { return 3, 4 })
	m.Controllers().Decided("volume", control.Changed, time.Millisecond)
	m.Called("/rvol.admin.v1.Nodes/List", codes.OK, time.Millisecond)
	if got := series(t, m.Gatherer(), "rvol_controller_queue_keys")["volume"]; got != 3 {
		t.Errorf("%v keys wait, want 3", got)
	}
	if got := series(t, m.Gatherer(), "rvol_controller_decisions_total")["volume changed"]; got != 1 {
		t.Errorf("%v decisions, want 1", got)
	}
	end()
	if got := series(t, m.Gatherer(), "rvol_controller_queue_keys"); len(got) != 0 {
		t.Errorf("a controller that has ended: %v", got)
	}
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
