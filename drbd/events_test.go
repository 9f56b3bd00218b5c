package drbd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
)

func TestParseEvent(t *testing.T) {
	got, err := drbd.ParseEvent([]byte("2026-11-21T02:59:51.138431+00:00 change path name:r0 peer-node-id:1 conn-name:n2 local:ipv4:10.9.1.1:7700 peer:ipv4:10.9.1.2:7700 established:yes"))
	if err != nil {
		t.Fatal(err)
	}
	want := drbd.Event{
		Time: time.Date(2026, 11, 21, 2, 59, 51, 138431000, time.UTC), Kind: drbd.Change, Object: drbd.PathEvent,
		Fields: map[string]string{
			"name": "r0", "peer-node-id": "1", "conn-name": "n2", "established": "yes",
			"local": "ipv4:10.9.1.1:7700", "peer": "ipv4:10.9.1.2:7700",
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Error(diff)
	}
}

func TestParseEventRefusesWhatItCannotRead(t *testing.T) {
	for _, line := range []string{
		"", "   ", "exists", "exists device", "change - name:r0", "exists thing name:r0", "exist device name:r0",
		"call device name:r0", "change helper name:r0", "change device name", "change device :x", "change device volume:0",
		"2026-11-21T02:59:51.138431+00:00",
	} {
		if e, err := drbd.ParseEvent([]byte(line)); !errors.Is(err, drbd.ErrGarbage) {
			t.Errorf("%q: got %v, %v", line, e, err)
		}
	}
}

// TestTableFollowsRecordedStreams plays whole recorded sessions and keeps
// what the Table says after every event that made a difference.
func TestTableFollowsRecordedStreams(t *testing.T) {
	for _, name := range []string{"8.4.11/152-", "8.4.11/155-", "8.4.11/220-", "8.4.11/284-", "9.3.3/events2-n1-stat.txt", "9.3.3/events2-n1-stat-boot2.txt"} {
		t.Run(strings.Trim(strings.ReplaceAll(name, "/", "-"), "-"), func(t *testing.T) {
			var b strings.Builder
			table, last := drbd.NewTable(), map[string]string{}
			for line := range bytes.Lines(streamOf(t, name)) {
				if !bytes.Contains(line, []byte(":")) || bytes.HasPrefix(line, []byte("#")) {
					continue // the recording's own marks
				}
				e, err := drbd.ParseEvent(line)
				if err != nil {
					t.Fatal(err)
				}
				if err := table.Apply(e); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				r, up := table.Resource(e.Name())
				now := "down"
				if up {
					now = brief(r)
				}
				if e.Name() != "" && now != last[e.Name()] {
					fmt.Fprintf(&b, "%s %s\n", e.Time.Format("15:04:05.000"), now)
					last[e.Name()] = now
				}
			}
			if !table.Complete() {
				t.Error("the dump at the start never ended")
			}
			golden(t, "golden/events-"+strings.Trim(strings.NewReplacer("/", "-", ".txt", "").Replace(name), "-")+".txt", b.String())
		})
	}
}

// streamOf gives the lines of a recorded stream.
func streamOf(t *testing.T, name string) []byte {
	t.Helper()
	if strings.HasSuffix(name, ".txt") {
		return readStream(t, name)
	}
	return record(t, name).stdout
}

func TestFollowHandsOverEvents(t *testing.T) {
	var argv []string
	stream := func(_ context.Context, a []string, line func([]byte) error) error {
		argv = a
		for _, l := range []string{"exists resource name:r0 role:Secondary", "exists -"} {
			if err := line([]byte(l)); err != nil {
				return err
			}
		}
		return nil
	}
	table := drbd.NewTable()
	if err := drbd.Follow(t.Context(), stream, table.Apply); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"drbdsetup", "events2", "--timestamps", "--statistics"}, argv); diff != "" {
		t.Error(diff)
	}
	if !table.Complete() || len(table.Names()) != 1 {
		t.Errorf("table: complete %t, %v", table.Complete(), table.Names())
	}
}

func TestFollowEndsAtALineItCannotRead(t *testing.T) {
	stream := func(_ context.Context, _ []string, line func([]byte) error) error { return line([]byte("exi")) }
	err := drbd.Follow(t.Context(), stream, func(drbd.Event) error { return nil })
	if !errors.Is(err, drbd.ErrGarbage) {
		t.Errorf("got %v, want ErrGarbage", err)
	}
}

func TestRenamedResource(t *testing.T) {
	table := drbd.NewTable()
	for _, line := range []string{"exists resource name:old role:Secondary", "exists -", "rename resource name:old new_name:new"} {
		e, err := drbd.ParseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"new"}, table.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestTableHandsOutCopies(t *testing.T) {
	resources, err := drbd.ParseDump(record(t, "9.3.3/1434-").stdout)
	if err != nil {
		t.Fatal(err)
	}
	c := resources[0].Clone()
	c.Devices[0].Disk = drbd.Failed
	c.Peers[0].Devices[0].Disk = drbd.Failed
	if resources[0].Devices[0].Disk == drbd.Failed || resources[0].Peers[0].Devices[0].Disk == drbd.Failed {
		t.Error("a copy shares its parts")
	}
}
