package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/program/programtest"
	"rvol/coordinator"
	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/serve/limit"
	"rvol/proto/identity"
)

// verbs are those that take flags.
var verbs = map[string]programtest.Verb{
	"run": func(args, environ []string, out io.Writer) error {
		_, err := parseRun(args, environ, out)
		return err
	},
	"init": func(args, environ []string, out io.Writer) error {
		_, err := parseInit(args, environ, out)
		return err
	},
	"join": func(args, environ []string, out io.Writer) error {
		_, err := parseJoin(args, environ, out)
		return err
	},
	"recover": func(args, environ []string, out io.Writer) error {
		_, err := parseRecover(args, environ, out)
		return err
	},
	"admin-cert": func(args, environ []string, out io.Writer) error {
		_, err := parseAdminCert(args, environ, out)
		return err
	},
}

func TestManual(t *testing.T) { programtest.Manual(t, name, verbs) }

func TestFlagsHaveTwinsInTheEnvironment(t *testing.T) {
	got, err := parseRun([]string{"--api-listen", ":1", "--socket", "-"}, []string{
		"RVOL_COORDINATOR_API_LISTEN=:9", "RVOL_COORDINATOR_RAFT_LISTEN=:2", "RVOL_COORDINATOR_HEARTBEAT=2s", "RVOL_COORDINATOR_DEBUG=true",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := coordinator.RunOptions{Dir: defaultDir, APIListen: ":1", RaftListen: ":2", Heartbeat: 2 * time.Second, NotReadyAfter: 15 * time.Second, Election: time.Second, Metrics: defaultMetrics, MetricsVolumes: 1000, Dashboard: defaultDashboard, MaxResyncs: 4, Repairs: repair.Limits{Cluster: 8, PerNode: 2}, Leftovers: leftover.Limits{Count: 5, Period: time.Hour}, Limits: limit.Config{Rate: 500, Burst: 1000, Running: 64, Waiting: 128, Streams: 256}, Debug: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	join, err := parseJoin([]string{"--token", "t", "--coordinator", "a:1", "--coordinator", "b:1", "--name", "c2"}, nil, io.Discard)
	if err != nil || strings.Join(join.Coordinators, " ") != "a:1 b:1" || join.Name != "c2" {
		t.Errorf("got %+v, %v", join, err)
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		verb string
		args string
		env  string
		says string
	}{
		"a word too many":              {"run", "now", "", `unexpected "now"`},
		"a duration without a unit":    {"run", "", "RVOL_COORDINATOR_HEARTBEAT=5", "--heartbeat"},
		"neither true nor false":       {"run", "", "RVOL_COORDINATOR_DEBUG=yes please", "--debug"},
		"no volumes to tell of":        {"run", "--metrics-volumes 0", "", "at least 1"},
		"a number that is none":        {"run", "", "RVOL_COORDINATOR_METRICS_VOLUMES=many", "--metrics-volumes"},
		"join without a token":         {"join", "--name c2", "", "--token"},
		"a client file that is there":  {"init", "--admin-config " + taken, "", "exists"},
		"a certificate for nobody":     {"admin-cert", "--out x", "", "--name"},
		"a certificate for a machine":  {"admin-cert", "--name x --out x --role " + string(identity.Server), "", "--role"},
		"a flag that nobody has heard": {"admin-cert", "--colour red", "", "colour"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := verbs[tc.verb](strings.Fields(tc.args), []string{tc.env}, io.Discard); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want it to say %q", err, tc.says)
			}
		})
	}
}
