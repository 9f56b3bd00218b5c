package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/agent"
	"rvol/cmd/internal/program/programtest"
)

func TestManual(t *testing.T) {
	programtest.Manual(t, name, map[string]programtest.Verb{
		"run": func(args, environ []string, out io.Writer) error {
			_, err := parseRun(args, environ, out)
			return err
		},
		"join": func(args, environ []string, out io.Writer) error {
			_, err := parseJoin(args, environ, out)
			return err
		},
		"attach": func(args, environ []string, out io.Writer) error {
			_, err := parseUse("attach", args, environ, out)
			return err
		},
	})
}

func TestJoinTakesAddressesAndLabelsByName(t *testing.T) {
	args := strings.Fields("--token t --name n1 --coordinator c1:7170 --address default=10.0.0.1 --address fast=10.1.0.1 --label rack=a")
	got, err := parseJoin(args, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := agent.JoinConfig{
		Token: "t", Name: "n1", State: "/var/lib/rvol/agent", Coordinators: []string{"c1:7170"},
		Addresses: map[string]string{"default": "10.0.0.1", "fast": "10.1.0.1"}, Labels: map[string]string{"rack": "a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJoinRefusesWhatMakesNoSense(t *testing.T) {
	for says, args := range map[string]string{
		"give a token":      "--name n1",
		"want NAME=VALUE":   "--token t --label rack",
		"each name once":    "--token t --address default=10.0.0.1 --address default=10.0.0.2",
		`unexpected "now"`:  "--token t now",
		"flag provided but": "--colour red",
	} {
		if _, err := parseJoin(strings.Fields(args), nil, io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", args, err, says)
		}
	}
}

func TestAttachTakesAVolume(t *testing.T) {
	u, err := parseUse("detach", strings.Fields("db-1 --timeout 30s --coordinator c1:7170"), nil, io.Discard)
	if err != nil || u.Volume != "db-1" || u.Timeout != 30*time.Second || len(u.Coordinators) != 1 {
		t.Errorf("got %+v, %v", u, err)
	}
	for says, args := range map[string]string{"name a volume": "--timeout 30s", `unexpected "db-2"`: "db-1 db-2"} {
		if _, err := parseUse("attach", strings.Fields(args), nil, io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", args, err, says)
		}
	}
}

func TestAMisspeltSettingIsRefused(t *testing.T) {
	if _, err := parseRun(nil, []string{"RVOL_AGENT_METRICS=-", "RVOL_AGENT_FENCE_SOCKET=/x"}, io.Discard); err != nil {
		t.Error(err)
	}
	if _, err := parseRun(nil, []string{"RVOL_AGENT_METRIC=-"}, io.Discard); err == nil || !strings.Contains(err.Error(), "unknown setting RVOL_AGENT_METRIC:") {
		t.Errorf("got %v", err)
	}
}
