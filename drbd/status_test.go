package drbd_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestStatusOfRecordedResources(t *testing.T) {
	var b strings.Builder
	names, err := filepath.Glob("testdata/9.3.3/*-status-*.txt")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d recordings, %v", len(names), err)
	}
	for _, name := range names {
		r := readRecording(t, name)
		if r.exit != 0 {
			continue
		}
		resources, err := drbd.ParseStatus(r.stdout)
		if err != nil || len(resources) != 1 {
			t.Fatalf("%s: %d resources, %v", name, len(resources), err)
		}
		b.WriteString("== " + filepath.Base(name) + "\n" + show(resources[0]))
	}
	golden(t, "golden/status-9.3.3.txt", b.String())
}

func TestStatusWithoutResourcesIsEmpty(t *testing.T) {
	got, err := drbd.ParseStatus(record(t, "9.3.3/010-").stdout)
	if err != nil || len(got) != 0 {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestStatusOfUnknownResourceSaysSo(t *testing.T) {
	for version, r := range map[drbd.Version]recording{
		drbdtest.V9:  record(t, "9.3.3/011-"),
		drbdtest.V84: record(t, "8.4.11/013-"), // 8.4's events2 of nothing
	} {
		var ran []string
		_, err := drbd.New(answers(r, &ran), version).Status(t.Context(), "r0")
		if !errors.Is(err, drbd.ErrUnknownResource) {
			t.Errorf("%s: got %v, want ErrUnknownResource", version, err)
		}
	}
}

func TestJSONAndEventsTellTheSame(t *testing.T) {
	fromJSON, err := drbd.ParseStatus(record(t, "9.3.3/1433-").stdout)
	if err != nil {
		t.Fatal(err)
	}
	fromEvents, err := drbd.ParseDump(record(t, "9.3.3/1434-").stdout)
	if err != nil {
		t.Fatal(err)
	}
	fromJSON[0].NodeID = drbd.NoNode // events2 of 9.22 does not say it
	fromEvents[0].Devices[0].BackingDev = ""
	if diff := cmp.Diff(fromJSON, fromEvents); diff != "" {
		t.Errorf("status --json and events2 --now differ:\n%s", diff)
	}
}

func TestStatusOf84IsReadFromEvents(t *testing.T) {
	var ran []string
	r := record(t, "8.4.11/068-")
	got, err := drbd.New(answers(r, &ran), drbdtest.V84).Status(t.Context(), "r0")
	if err != nil {
		t.Fatal(err)
	}
	want := drbd.Resource{
		Name: "r0", NodeID: drbd.NoNode, Role: drbd.Primary,
		Devices: []drbd.Device{{Minor: 0, Disk: drbd.UpToDate, Quorum: true, Size: 65496 << 10}},
		Peers: []drbd.Peer{{
			Name: "peer", Conn: drbd.Connected, Role: drbd.Secondary,
			Devices: []drbd.PeerDevice{{Repl: drbd.Established, Disk: drbd.UpToDate, ResyncSuspended: "no", Done: 100}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"drbdsetup events2 r0 --now --statistics"}, ran); diff != "" {
		t.Error(diff)
	}
}

func TestStatusRefusesWhatItCannotRead(t *testing.T) {
	whole := string(record(t, "9.3.3/1433-").stdout)
	for name, text := range map[string]string{
		"empty":               "",
		"null":                "null",
		"half":                whole[:len(whole)/2],
		"not JSON":            "drbdsetup: command not found",
		"an object":           "{}",
		"a name of no kind":   strings.Replace(whole, `"r0"`, `7`, 1),
		"no name":             strings.Replace(whole, `"name": "r0"`, `"game": "r0"`, 1),
		"a negative size":     strings.Replace(whole, `"size": 348048`, `"size": -1`, 1),
		"a size out of range": strings.Replace(whole, `"size": 348048`, `"size": 9223372036854775807`, 1),
	} {
		if _, err := drbd.ParseStatus([]byte(text)); !errors.Is(err, drbd.ErrGarbage) {
			t.Errorf("%s: got %v, want ErrGarbage", name, err)
		}
	}
	for name, text := range map[string]string{
		"empty":       "",
		"no end":      "exists resource name:r0 role:Secondary suspended:no\n",
		"out of turn": "exists device name:r0 volume:0 minor:1 disk:UpToDate\nexists -\n",
		"a bad size":  "exists resource name:r0 role:Secondary\nexists device name:r0 volume:0 minor:1 size:x\nexists -\n",
		"no volume":   "exists resource name:r0 role:Secondary\nexists device name:r0 minor:1\nexists -\n",
		"words":       "drbdsetup: command not found\n",
	} {
		if _, err := drbd.ParseDump([]byte(text)); !errors.Is(err, drbd.ErrGarbage) {
			t.Errorf("dump, %s: got %v, want ErrGarbage", name, err)
		}
	}
}

func TestOpenIsSaidByNewTools(t *testing.T) {
	text := `[{"name":"r0","node-id":1,"role":"Primary","devices":[{"volume":0,"minor":7,"disk-state":"UpToDate","open":true}]}]`
	got, err := drbd.ParseStatus([]byte(text))
	if err != nil || got[0].Devices[0].Open != drbd.Yes {
		t.Fatalf("got %+v, %v", got, err)
	}
}
