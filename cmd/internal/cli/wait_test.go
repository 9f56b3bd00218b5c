package cli_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// event is a change of the fake's world so long after the command began.
type event struct {
	after  time.Duration
	change func(*world)
}

type waitTest struct {
	name     string
	args     string
	events   []event
	terminal bool
	ctrlC    time.Duration
	code     int
	out, err string
}

// formation moves db-3 on: the steps before active are completed.
func formation(active, message string) func(*world) {
	return func(w *world) {
		v := w.volumes[len(w.volumes)-1]
		v.Formation = &adminv1.Transition{Type: "Formation", Plan: "formation/v1"}
		state := "Completed"
		for _, name := range []string{"Preconfigure", "EstablishConnectivity", "BootstrapData"} {
			step := &adminv1.TransitionStep{Name: name, Status: state}
			if name == active {
				step.Status, step.Message, state = "Active", message, "Pending"
			}
			v.Formation.Steps = append(v.Formation.Steps, step)
		}
		if v.Replicas == nil {
			v.Replicas = []*adminv1.Replica{sampleReplica("db-3", 0, "n1"), sampleReplica("db-3", 1, "n2")}
		}
	}
}

func synced(percent float64) func(*world) {
	return func(w *world) {
		formation("BootstrapData", "waiting for n2 to be UpToDate")(w)
		w.volumes[len(w.volumes)-1].Replicas[1].SyncPercent = new(percent)
	}
}

func formed(w *world) {
	formation("", "")(w)
	v := w.volumes[len(w.volumes)-1]
	v.Formed, v.State = true, "ready"
}

func unplaced(w *world) {
	v := w.volumes[len(w.volumes)-1]
	v.Replicas = []*adminv1.Replica{{
		Meta: newMeta("db-3/0"), Type: "Diskful",
		Conditions: []*adminv1.Condition{{Type: "Scheduled", Status: "False", Reason: "SchedulingFailed", Message: "3 candidates; 3 excluded: no capacity"}},
	}}
}

const create = "volume create db-3 --size 1GiB --class r2 --wait"

var waitTests = []waitTest{
	{
		name: "formation is seen passing in plain lines, one for each new text",
		args: create,
		events: []event{
			{time.Second, formation("Preconfigure", "waiting for n1, n2 to make their volumes")},
			{3 * time.Second, formation("EstablishConnectivity", "waiting for n2 to connect")},
			{12 * time.Second, synced(3)},
			{14 * time.Second, synced(7)},
			{16 * time.Second, synced(55.5)},
			{20 * time.Second, formed},
		},
		out: "volume db-3 is ready on n1, n2\n",
		err: `0s Scheduling
1s Preconfigure: waiting for n1, n2 to make their volumes
3s Preconfigure: done after 3s
3s EstablishConnectivity: waiting for n2 to connect
12s EstablishConnectivity: done after 9s
12s BootstrapData: waiting for n2 to be UpToDate [0 %]
16s BootstrapData: waiting for n2 to be UpToDate [50 %]
20s BootstrapData: done after 8s
`,
	},
	{
		name: "on a terminal one line moves",
		args: create, terminal: true,
		events: []event{{1500 * time.Millisecond, synced(55.5)}, {2500 * time.Millisecond, formed}},
		out:    "volume db-3 is ready on n1, n2\n",
		err: "\r\x1b[K  0s Scheduling\r\x1b[K  1s Scheduling" +
			"\r\x1b[K1s Preconfigure: done after 1s\n1s EstablishConnectivity: done after 0s\n" +
			"\r\x1b[K  1s BootstrapData: waiting for n2 to be UpToDate [55.5 %]" +
			"\r\x1b[K  2s BootstrapData: waiting for n2 to be UpToDate [55.5 %]" +
			"\r\x1b[K2s BootstrapData: done after 1s\n",
	},
	{
		name: "on a terminal it is told how long the copying will take",
		args: create, terminal: true,
		events: []event{{500 * time.Millisecond, synced(10)}, {2500 * time.Millisecond, synced(20)}, {4500 * time.Millisecond, formed}},
		out:    "volume db-3 is ready on n1, n2\n",
		err: "\r\x1b[K  0s Scheduling" +
			"\r\x1b[K0s Preconfigure: done after 0s\n0s EstablishConnectivity: done after 0s\n" +
			"\r\x1b[K  0s BootstrapData: waiting for n2 to be UpToDate [10.0 %]" +
			"\r\x1b[K  1s BootstrapData: waiting for n2 to be UpToDate [10.0 %]" +
			"\r\x1b[K  2s BootstrapData: waiting for n2 to be UpToDate [10.0 %]" +
			"\r\x1b[K  2s BootstrapData: waiting for n2 to be UpToDate [20.0 %, about 16s left]" +
			"\r\x1b[K  3s BootstrapData: waiting for n2 to be UpToDate [20.0 %, about 20s left]" +
			"\r\x1b[K  4s BootstrapData: waiting for n2 to be UpToDate [20.0 %, about 28s left]" +
			"\r\x1b[K4s BootstrapData: done after 4s\n",
	},
	{
		name: "what does not move is not waited for",
		args: create, events: []event{{time.Minute, formation("EstablishConnectivity", "waiting for n2 to connect")}}, code: 6,
		err: `0s Scheduling
1m Preconfigure: done after 1m
1m EstablishConnectivity: waiting for n2 to connect
rvol: volume db-3: nothing has moved for 5m; last seen: EstablishConnectivity: waiting for n2 to connect. ` +
			"The work goes on: see `rvol volume show db-3`.\n",
	},
	{
		name: "what moves is waited for, however long it takes",
		args: create, events: []event{{4 * time.Minute, synced(10)}, {8 * time.Minute, synced(11)}, {12 * time.Minute, synced(12)}, {16 * time.Minute, formed}},
		out: "volume db-3 is ready on n1, n2\n",
		err: `0s Scheduling
4m Preconfigure: done after 4m
4m EstablishConnectivity: done after 0s
4m BootstrapData: waiting for n2 to be UpToDate [10 %]
16m BootstrapData: done after 12m
`,
	},
	{
		name: "whoever says how long is obeyed",
		args: create + " --timeout 10m", code: 6,
		err: "0s Scheduling\nrvol: volume db-3: not done after 10m; last seen: Scheduling. The work goes on: see `rvol volume show db-3`.\n",
	},
	{
		name: "a volume without a place is given ten seconds",
		args: create, events: []event{{time.Second, unplaced}}, code: 5,
		err: `0s Scheduling
1s Scheduling: replica db-3/0: 3 candidates; 3 excluded: no capacity
rvol: volume db-3: no place: replica db-3/0: 3 candidates; 3 excluded: no capacity. ` +
			"It is placed as soon as there is room; `rvol volume delete db-3` takes it back.\n",
	},
	{
		name: "a place that comes free in time is taken",
		args: create, events: []event{{time.Second, unplaced}, {9 * time.Second, func(w *world) {
			w.volumes[2].Replicas = nil
			formed(w)
		}}},
		out: "volume db-3 is ready on n1, n2\n",
		err: `0s Scheduling
1s Scheduling: replica db-3/0: 3 candidates; 3 excluded: no capacity
9s Preconfigure: done after 9s
9s EstablishConnectivity: done after 0s
9s BootstrapData: done after 0s
`,
	},
	{
		name: "the time is over",
		args: create + " --timeout 30s", events: []event{{time.Second, formation("EstablishConnectivity", "waiting for n2 to connect")}}, code: 6,
		err: `0s Scheduling
1s Preconfigure: done after 1s
1s EstablishConnectivity: waiting for n2 to connect
rvol: volume db-3: not done after 30s; last seen: EstablishConnectivity: waiting for n2 to connect. ` +
			"The work goes on: see `rvol volume show db-3`.\n",
	},
	{
		name: "Ctrl-C leaves the work going",
		args: create, ctrlC: 5 * time.Second, code: 1,
		err: "0s Scheduling\nrvol: volume db-3: interrupted; last seen: Scheduling. The work goes on: see `rvol volume show db-3`.\n",
	},
	{
		name: "somebody deletes it meanwhile",
		args: create + " -q", events: []event{{time.Second, func(w *world) { w.volumes = w.volumes[:2] }}}, code: 3,
		err: "rvol: volume db-3: deleted while it was waited for. See `rvol event list`.\n",
	},
	{
		name: "delete waits until the volume is gone",
		args: "volume delete db-1 --yes --wait",
		events: []event{
			{2 * time.Second, func(w *world) { w.volumes[0].Replicas = w.volumes[0].Replicas[1:] }},
			{4 * time.Second, func(w *world) { w.volumes = w.volumes[1:] }},
		},
		out: "volume db-1 is gone from every node\n",
		err: "0s Deleting: waiting for n1, n2\n2s Deleting: waiting for n2\n",
	},
	{
		name: "delete is done when another volume has the name",
		args: "volume delete db-1 --yes --wait -q",
		events: []event{{time.Second, func(w *world) {
			w.volumes[0] = sampleVolume("db-1", "forming")
			w.volumes[0].Meta.Uid = "uid-of-another"
		}}},
	},
	{
		name: "attach waits until the device can be used",
		args: "volume attach db-2 n2 --wait",
		events: []event{
			{time.Second, func(w *world) { w.attachments[1].Message = "waiting for n2 to become Primary" }},
			{2 * time.Second, func(w *world) {
				w.attachments[1].Device = "/dev/rvol/db-2"
				w.attachments[1].Conditions = []*adminv1.Condition{{Type: "Ready", Status: "True"}}
			}},
		},
		out: "attachment db-2/n2 is ready: /dev/rvol/db-2\n",
		err: "0s Attaching\n1s Attaching: waiting for n2 to become Primary\n",
	},
	{
		name: "detach waits until the attachment is gone",
		args: "volume detach db-1 n1 --wait", events: []event{
			{time.Second, func(w *world) { w.attachments = nil }},
		},
		out: "attachment db-1/n1 ended\n",
		err: "0s Detaching: waiting for n1 to become Secondary\n",
	},
	{
		name: "a detach that is given back was refused",
		args: "volume detach db-1 n1 --wait", events: []event{{time.Second, func(w *world) {
			w.attachments[0].Meta.DeletingSince, w.attachments[0].Message = nil, "not detached: in use by mount (pid 12)"
		}}},
		code: 4,
		err: "0s Detaching: waiting for n1 to become Secondary\n" +
			"rvol: attachment db-1/n1: not detached: in use by mount (pid 12). Unmount or close it on n1 first.\n",
	},
	{
		name: "a volume group is made on a disk",
		args: "lvg create n2 vg1 --device /dev/sdb --wait",
		events: []event{{time.Second, func(w *world) {
			w.lvgs[1].Conditions = []*adminv1.Condition{{Type: "Ready", Status: "True"}}
		}}},
		out: "lvg n2/vg1 ready\n",
		err: "0s CreateVG: waiting for n2 to report it\n",
	},
	{
		name: "a disk that is not empty is told",
		args: "lvg create n2 vg1 --device /dev/sdb --wait",
		events: []event{{time.Second, func(w *world) {
			w.operations = append(w.operations, &adminv1.Operation{
				Meta: newMeta("op-2"), Type: "CreateVG", Node: "n2", Phase: "Failed", Result: "/dev/sdb holds ext4",
			})
		}}},
		code: 1,
		err:  "0s CreateVG: waiting for n2 to report it\nrvol: lvg n2/vg1: make it: /dev/sdb holds ext4. See `rvol operation show op-2`.\n",
	},
}

func TestWait(t *testing.T) {
	for _, tt := range waitTests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t)
				s.env.IsTerminal = func(stream any) bool { return tt.terminal && stream == any(s.err) }
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.ctrlC > 0 {
					time.AfterFunc(tt.ctrlC, cancel)
				}
				for _, e := range tt.events {
					time.AfterFunc(e.after, func() { s.fake.edit(e.change) })
				}
				code := s.run(ctx, strings.Fields(tt.args)...)
				if code != tt.code {
					t.Errorf("exit status %d, want %d", code, tt.code)
				}
				if diff := cmp.Diff(tt.out, s.out.String()); diff != "" {
					t.Errorf("output (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.err, s.err.String()); diff != "" {
					t.Errorf("progress (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestWaitGoesOnWhileTheLeaderIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		const list = "/rvol.admin.v1.Volumes/List"
		time.AfterFunc(2*time.Second, func() {
			s.fake.edit(func(*world) { s.fake.refuse[list] = status.Error(codes.Unavailable, "no leader") })
		})
		time.AfterFunc(30*time.Second, func() {
			s.fake.edit(func(w *world) {
				delete(s.fake.refuse, list)
				formed(w)
			})
		})
		if code := s.run(t.Context(), strings.Fields(create)...); code != 0 {
			t.Errorf("exit status %d, want 0: %s", code, s.err)
		}
		if !strings.Contains(s.err.String(), "Scheduling: waiting for a coordinator that can answer\n") {
			t.Errorf("progress does not tell why nothing goes on:\n%s", s.err)
		}
	})
}

func TestWaitBelievesNoStaleAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		volume := []*adminv1.Volume(nil)
		time.AfterFunc(2*time.Second, func() {
			s.fake.edit(func(w *world) {
				s.fake.head = metadata.Pairs("rvol-stale", "no leader since 11:59")
				volume, w.volumes = w.volumes, nil
			})
		})
		time.AfterFunc(20*time.Second, func() { s.fake.edit(func(w *world) { s.fake.head, w.volumes = nil, volume }) })
		time.AfterFunc(30*time.Second, func() { s.fake.edit(func(w *world) { w.volumes = nil }) })
		begin := time.Now()
		if code := s.run(t.Context(), "volume", "delete", "db-1", "--yes", "--wait"); code != 0 || time.Since(begin) != 30*time.Second {
			t.Errorf("exit status %d after %s, want 0 after 30s: %s", code, time.Since(begin), s.err)
		}
	})
}

func TestWaitPollsWhenNobodyTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.fake.refuse["/rvol.admin.v1.Events/Changes"] = status.Error(codes.Unimplemented, "no such method")
		time.AfterFunc(5*time.Second+time.Millisecond, func() { s.fake.edit(formed) })
		begin := time.Now()
		if code := s.run(t.Context(), strings.Fields(create)...); code != 0 {
			t.Errorf("exit status %d, want 0: %s", code, s.err)
		}
		if took := time.Since(begin); took > 6*time.Second {
			t.Errorf("seen after %s, want at most a second late", took)
		}
	})
}
