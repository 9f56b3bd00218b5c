package metrics

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"rvol/agent/decide"
	"rvol/agent/host"
	"rvol/agent/observe"
	"rvol/drbd"
)

func TestACommandLineIsToldByFixedWords(t *testing.T) {
	for _, tc := range []struct {
		argv       []string
		tool, verb string
	}{
		{[]string{"drbdadm", "-c", "/etc/drbd.d/rvol/db-1.res", "adjust", "db-1"}, "drbdadm", "adjust"},
		{[]string{"drbdsetup", "new-current-uuid", "10001", "--clear-bitmap"}, "drbdsetup", "new-current-uuid"},
		{[]string{"drbdmeta", "--force", "10001", "v09", "/dev/vg0/rvol-db-1.0.0", "internal", "create-md", "7"}, "drbdmeta", "create-md"},
		{[]string{"lvcreate", "--name", "rvol-status.0.0"}, "lvcreate", ""},
		{[]string{"drbdsetup", "dance", "db-1"}, "drbdsetup", "other"},
		{[]string{"rm", "-rf"}, "other", ""},
	} {
		if tool, verb := words(tc.argv); tool != tc.tool || verb != tc.verb {
			t.Errorf("%v: %s %s, want %s %s", tc.argv, tool, verb, tc.tool, tc.verb)
		}
	}
}

func TestToolsAreCounted(t *testing.T) {
	m := New("test")
	refused := errors.New("exit status 5")
	for _, err := range []error{nil, refused, &host.MissingToolError{Tool: "lvs"}} {
		run := m.Runner(func(context.Context, ...string) ([]byte, error) {
			if n := testutil.ToFloat64(m.tools.running); n != 1 {
				t.Errorf("%v tools run, want 1", n)
			}
			return []byte("out"), err
		})
		if out, got := run(t.Context(), "lvs", "--reportformat", "json"); string(out) != "out" || !errors.Is(got, err) {
			t.Errorf("got %q, %v: who counts changes nothing", out, got)
		}
	}
	if n := testutil.ToFloat64(m.tools.failures.WithLabelValues("lvs", "")); n != 1 {
		t.Errorf("%v failures, want 1: a tool that is missing has not run", n)
	}
	if n := testutil.CollectAndCount(m.tools.seconds); n != 1 {
		t.Errorf("%d kinds of tools, want 1", n)
	}
}

func TestWhatDRBDHolds(t *testing.T) {
	facts := Facts{
		Order: decide.Desired{Resources: []decide.Resource{
			{Name: "alone", DRBD: "8.4", Member: true, Peers: []decide.Peer{{ID: 1}}},
			{Name: "single", DRBD: "8.4", Member: true},
		}},
		DRBD: observe.DRBDView{Seen: true, Resources: []drbd.Resource{
			{Name: "alone", Role: drbd.Primary, Suspended: drbd.Suspended{Fencing: true}, Devices: []drbd.Device{{Disk: drbd.UpToDate, Quorum: true}}},
			{Name: "single", Role: drbd.Primary, Devices: []drbd.Device{{Disk: drbd.UpToDate, Quorum: true}}},
			{Name: "syncs", Role: drbd.Secondary, Devices: []drbd.Device{{Disk: drbd.Inconsistent}}, Peers: []drbd.Peer{
				{Conn: drbd.Connected, Devices: []drbd.PeerDevice{{Repl: drbd.SyncTarget, OutOfSync: 4096, Done: 25}}},
				{Conn: drbd.Connected, Devices: []drbd.PeerDevice{{Repl: drbd.Established}}},
				{Conn: drbd.Connecting},
			}},
		}},
	}
	m := New("test")
	m.Read("n1", func() Facts { return facts })
	all, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range all {
		for _, s := range f.GetMetric() {
			if len(f.GetName()) > 9 && f.GetName()[:9] == "rvol_drbd" && s.GetGauge().GetValue() != 0 {
				name := f.GetName()
				for _, l := range s.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = s.GetGauge().GetValue()
			}
		}
	}
	want := map[string]float64{
		"rvol_drbd_resources Primary": 2, "rvol_drbd_resources Secondary": 1,
		"rvol_drbd_disks UpToDate": 2, "rvol_drbd_disks Inconsistent": 1,
		"rvol_drbd_connections StandAlone": 1, "rvol_drbd_connections Connected": 2, "rvol_drbd_connections Connecting": 1,
		"rvol_drbd_suspended_resources": 1, "rvol_drbd_devices_without_quorum": 1,
		"rvol_drbd_out_of_sync_bytes": 4096, "rvol_drbd_syncing_devices": 1, "rvol_drbd_sync_ratio syncs": 0.25,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
