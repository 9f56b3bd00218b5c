package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent"
	"rvol/cmd/internal/program/programtest"
)

func none(string) string { return "" }

func TestManual(t *testing.T) {
	programtest.Manual(t, name, map[string]programtest.Verb{
		"run": func(args []string, env func(string) string, out io.Writer) error {
			_, err := parseRun(args, env, out)
			return err
		},
		"join": func(args []string, env func(string) string, out io.Writer) error {
			_, err := parseJoin(args, env, out)
			return err
		},
	})
}

func TestJoinTakesAddressesAndLabelsByName(t *testing.T) {
	args := strings.Fields("--token t --name n1 --coordinator c1:7170 --address default=10.0.0.1 --address fast=10.1.0.1 --label rack=a")
	got, err := parseJoin(args, none, io.Discard)
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
		if _, err := parseJoin(strings.Fields(args), none, io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", args, err, says)
		}
	}
}
