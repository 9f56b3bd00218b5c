package admin

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

func TestWhatIsNoVolumeIsRefused(t *testing.T) {
	good := func() *adminv1.CreateVolumeRequest {
		return &adminv1.CreateVolumeRequest{Name: "db-1", Class: "r2", Sizes: []int64{1 << 30}}
	}
	for _, tc := range []struct {
		name   string
		change func(*adminv1.CreateVolumeRequest)
		kind   error
		says   string
	}{
		{"no name", func(r *adminv1.CreateVolumeRequest) { r.Name = "" }, model.ErrInvalid, "name is empty"},
		{"a name with capitals", func(r *adminv1.CreateVolumeRequest) { r.Name = "DB" }, model.ErrInvalid, `"DB"`},
		{"a long name", func(r *adminv1.CreateVolumeRequest) { r.Name = strings.Repeat("a", 49) }, model.ErrInvalid, "48"},
		{"size 0", func(r *adminv1.CreateVolumeRequest) { r.Sizes = []int64{0} }, model.ErrInvalid, "want more than 0"},
		{"a negative size", func(r *adminv1.CreateVolumeRequest) { r.Sizes = []int64{-1} }, model.ErrInvalid, "want more than 0"},
		{"a size beyond all", func(r *adminv1.CreateVolumeRequest) { r.Sizes = []int64{math.MaxInt64} }, model.ErrInvalid, "1 PiB"},
		{"devices that overflow together", func(r *adminv1.CreateVolumeRequest) { r.Sizes = []int64{1 << 50, 1 << 50} }, model.ErrInvalid, "1 PiB"},
		{"no device", func(r *adminv1.CreateVolumeRequest) { r.Sizes = nil }, model.ErrInvalid, "0 devices"},
		{"no class", func(r *adminv1.CreateVolumeRequest) { r.Class = "" }, model.ErrInvalid, "needs a class"},
		{"an unknown class", func(r *adminv1.CreateVolumeRequest) { r.Class = "gold" }, model.ErrNotFound, "class gold: not found"},
		{"an unknown node", func(r *adminv1.CreateVolumeRequest) { r.AttachTo = []string{"n9"} }, model.ErrNotFound, "node n9: not found"},
		{"three attachments", func(r *adminv1.CreateVolumeRequest) { r.MaxAttachments = 3 }, model.ErrInvalid, "want 1 to 2"},
		{"an option that is not on the list", func(r *adminv1.CreateVolumeRequest) { r.Drbd = map[string]string{"handlers": "x"} }, model.ErrInvalid, `option "handlers"`},
		{"an option with a file's syntax", func(r *adminv1.CreateVolumeRequest) { r.Drbd = map[string]string{"timeout": "1; }"} }, model.ErrInvalid, "option timeout"},
		{"a label nobody can select", func(r *adminv1.CreateVolumeRequest) { r.Labels = map[string]string{"a b": "c"} }, model.ErrInvalid, "label key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.class()
			r := good()
			tc.change(r)
			_, err := (&volumes{api: w.api}).Create(w.ctx, r)
			refused(t, err, tc.kind, tc.says)
		})
	}
}

func TestAVolumeIsWrittenDownWithItsDefaults(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.offer("n1", "vg0", 1000)
	w.class("n1")
	v, err := (&volumes{api: w.api}).Create(w.ctx, &adminv1.CreateVolumeRequest{Name: "db-1", Class: "r2", Sizes: []int64{1000}})
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := get[*model.Volume](w, "db-1")
	if diff := cmp.Diff([]model.VolumeDevice{{Number: 0, Size: 4096}}, stored.Devices); diff != "" {
		t.Errorf("devices: %s", diff)
	}
	if stored.MaxAttachments != 1 || stored.UID == "" || stored.Generation != 1 || stored.CreatedAt.IsZero() {
		t.Errorf("stored %+v", stored)
	}
	if v.GetState() != "forming" || v.GetLayout() != "2D+arbiter" || v.GetCopiesWanted() != 2 {
		t.Errorf("answer %v", v)
	}
	_, err = (&volumes{api: w.api}).Create(w.ctx, &adminv1.CreateVolumeRequest{Name: "db-1", Class: "r2", Sizes: []int64{1000}})
	refused(t, err, model.ErrExists, "volume db-1: exists already")
}

func TestAVolumeOfAClassThatIsNotReadyWaitsAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.class()
	cs, _ := get[*model.ClassStatus](w, "r2")
	cs = model.Clone(cs)
	cs.Configuration = nil
	cs.Conditions = model.Conditions{{Type: "Ready", Status: model.False, Message: "2 nodes with disks are needed, have 1"}}
	w.put(cs)
	v, err := (&volumes{api: w.api}).Create(w.ctx, &adminv1.CreateVolumeRequest{Name: "db-1", Class: "r2", Sizes: []int64{4096}})
	if err != nil || v.GetMessage() != "class r2 is not ready: 2 nodes with disks are needed, have 1" {
		t.Errorf("got %q, %v", v.GetMessage(), err)
	}
}

func TestARepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	w := newWorld(t)
	w.class()
	s, r := &volumes{api: w.api}, &adminv1.CreateVolumeRequest{Name: "db-1", Class: "r2", Sizes: []int64{4096}}
	first, err := s.Create(w.as(identity.Admin, "r-1"), r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Create(w.as(identity.Admin, "r-1"), r)
	if err != nil || again.GetMeta().GetUid() != first.GetMeta().GetUid() {
		t.Errorf("the repeated request: %v, %v, want the volume of the first", again.GetMeta(), err)
	}
	_, err = s.Create(w.as(identity.Operator, "r-1"), r)
	refused(t, err, model.ErrInvalid, "used for something else")
}

// A call that found nothing to change is remembered too: repeated, it does not undo what
// somebody else did since.
func TestARepeatedRequestThatChangedNothingChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	s, no := &nodes{api: w.api}, false
	uncordon := func(id string) {
		t.Helper()
		if _, err := s.Set(w.as(identity.Admin, id), &adminv1.SetNodeRequest{Name: "n1", Unschedulable: &no}); err != nil {
			t.Fatal(err)
		}
	}
	uncordon("r-1")
	yes := true
	if _, err := s.Set(w.ctx, &adminv1.SetNodeRequest{Name: "n1", Unschedulable: &yes}); err != nil {
		t.Fatal(err)
	}
	for _, again := range []struct {
		id   string
		want bool
	}{{"r-1", true}, {"r-2", false}} {
		uncordon(again.id)
		if n, _ := get[*model.Node](w, "n1"); n.Unschedulable != again.want {
			t.Errorf("after %s: cordoned %v, want %v", again.id, n.Unschedulable, again.want)
		}
	}
}

func TestWhatNoPoolCanEverHoldIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	for n, extents := range map[string]int64{"n1": 100, "n2": 50} {
		w.node(n)
		w.offer(n, "vg0", extents)
	}
	w.class("n1", "n2")
	s := &volumes{api: w.api}
	_, err := s.Create(w.ctx, &adminv1.CreateVolumeRequest{Name: "big", Class: "r2", Sizes: []int64{1 << 40}})
	refused(t, err, model.ErrNoSpace, "n1/vg0 holds 400 MiB at most and lacks", "n2/vg0 holds 200 MiB at most and lacks")
	if _, there := get[*model.Volume](w, "big"); there {
		t.Error("the volume was made all the same")
	}
	if _, err := s.Create(w.ctx, &adminv1.CreateVolumeRequest{Name: "fits-one", Class: "r2", Sizes: []int64{300 << 20}}); err != nil {
		t.Errorf("one that a pool can hold: %v, want it to wait for another", err)
	}
}

func TestVolumeStates(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(w *world)
		state  string
		says   string
	}{
		{"both copies are well", func(*world) {}, "ready", ""},
		{"a node does not report", func(w *world) { w.inv.Close("n2", w.inv.View().Node("n2").Session) }, "degraded", "no report from n2"},
		{"no node reports", func(w *world) { w.inv.Reset() }, "unknown", "no report from n1, n2"},
		{"a copy is behind", func(w *world) {
			w.resource("n2", "db-1", func(r *inventory.Resource) {
				r.Devices[0].Disk = drbd.Inconsistent
				r.Peers[0].Devices[0].Replication, r.Peers[0].Devices[0].DonePercent = drbd.SyncTarget, 42.5
			})
		}, "syncing", "42.5 %"},
		{"a copy is out of date", func(w *world) {
			w.resource("n2", "db-1", func(r *inventory.Resource) { r.Devices[0].Disk = drbd.Outdated })
		}, "degraded", "db-1/1 on n2 is Outdated"},
		{"a link is down", func(w *world) {
			w.resource("n2", "db-1", func(r *inventory.Resource) { r.Peers[0].Connection = drbd.Connecting })
		}, "degraded", "connected with 0 of 1 peers"},
		{"no copy is well", func(w *world) {
			for _, n := range []string{"n1", "n2"} {
				w.resource(n, "db-1", func(r *inventory.Resource) { r.Devices[0].Disk = drbd.Failed })
			}
		}, "unavailable", "no copy is UpToDate"},
		{"one went on alone, and that it is over is not proven", func(w *world) {
			w.change("db-1", func(vs *model.VolumeStatus) { vs.GoesAlone(1) })
		}, "degraded", "replica 1 on n2 went on alone"},
		{"the copy that went on alone is away", func(w *world) {
			w.change("db-1", func(vs *model.VolumeStatus) { vs.GoesAlone(0) })
			w.inv.Close("n1", w.inv.View().Node("n1").Session)
		}, "unavailable", "rvol node fence n1 --accept-stale"},
		{"it is stopped", func(w *world) {
			vol, _ := get[*model.Volume](w, "db-1")
			vol = model.Clone(vol)
			vol.Stopped = true
			w.put(vol)
		}, "stopped", "rvol volume start db-1"},
		{"it is being deleted", func(w *world) {
			if _, err := (&volumes{api: w.api}).Delete(w.ctx, &adminv1.DeleteRequest{Name: "db-1", Confirm: "db-1"}); err != nil {
				t.Fatal(err)
			}
		}, "deleting", "waiting for n1, n2"},
		{"it is not formed yet", func(w *world) {
			w.forming("db-1", &model.Transition{Plan: "formation/v1", Steps: []model.TransitionStep{
				{Name: "EstablishConnectivity", Status: model.StepActive, Message: "waiting for db-1/1 to connect"},
			}})
		}, "forming", "EstablishConnectivity: waiting for db-1/1 to connect"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1")
			w.node("n2")
			w.class("n1", "n2")
			w.formed("db-1", "n1", "n2")
			tc.change(w)
			list, err := (&volumes{api: w.api}).List(w.ctx, &adminv1.ListRequest{Names: []string{"db-1"}})
			if err != nil {
				t.Fatal(err)
			}
			v := list.GetVolumes()[0]
			if v.GetState() != tc.state || !strings.Contains(v.GetMessage(), tc.says) {
				t.Errorf("got %s: %q, want %s: %q", v.GetState(), v.GetMessage(), tc.state, tc.says)
			}
		})
	}
}

func TestReplicaConditionsFollowReports(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	w.inv.Close("n2", w.inv.View().Node("n2").Session)
	w.resource("n1", "db-1", func(r *inventory.Resource) { r.Peers[0].Connection = drbd.Connecting })
	list, err := (&replicas{api: w.api}).List(w.ctx, &adminv1.ListRequest{Volume: "db-1"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range list.GetReplicas() {
		for _, c := range r.GetConditions() {
			got[r.GetMeta().GetName()+" "+c.GetType()] = c.GetStatus()
		}
	}
	want := map[string]string{
		"db-1/0 BackingVolumeReady": "True", "db-1/0 Configured": "True", "db-1/0 Connected": "False",
		"db-1/0 DataUpToDate": "True", "db-1/0 Ready": "False",
		"db-1/1 BackingVolumeReady": "Unknown", "db-1/1 Configured": "Unknown", "db-1/1 Connected": "Unknown",
		"db-1/1 DataUpToDate": "Unknown", "db-1/1 Ready": "Unknown",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteIsRefusedWhileInUse(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	w.attached("db-1", "n1")
	s := &volumes{api: w.api}
	_, err := s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "db-1", Confirm: "db-1"})
	refused(t, err, model.ErrBusy, "volume db-1: in use on node n1")
	_, err = s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "db-2", Confirm: "db-2"})
	refused(t, err, model.ErrNotFound, "volume db-2")
	_, err = s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "db-1", Confirm: "db-2"})
	refused(t, err, model.ErrInvalid, "once more")
	stopped := true
	_, err = s.Set(w.ctx, &adminv1.SetVolumeRequest{Name: "db-1", Stopped: &stopped})
	refused(t, err, model.ErrBusy, "in use on node n1")
}

func TestPropertiesAndLabelsAreMerged(t *testing.T) {
	w := newWorld(t)
	w.class()
	w.formed("db-1")
	s := &volumes{api: w.api}
	for _, r := range []*adminv1.SetVolumeRequest{
		{Name: "db-1", Labels: &adminv1.LabelChange{Set: map[string]string{"app": "db", "old": "x"}}, Properties: map[string]string{"a": "1", "b": "2"}},
		{Name: "db-1", Labels: &adminv1.LabelChange{Remove: []string{"old"}}, Properties: map[string]string{"a": ""}},
	} {
		if _, err := s.Set(w.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	vol, _ := get[*model.Volume](w, "db-1")
	if diff := cmp.Diff([]map[string]string{{"app": "db"}, {"b": "2"}}, []map[string]string{vol.Labels, vol.Properties}); diff != "" {
		t.Error(diff)
	}
	list, err := s.List(w.ctx, &adminv1.ListRequest{Selector: "app=web"})
	if err != nil || len(list.GetVolumes()) != 0 {
		t.Errorf("app=web selects %v, %v", list.GetVolumes(), err)
	}
	_, err = s.List(w.ctx, &adminv1.ListRequest{Selector: "app in (("})
	refused(t, err, model.ErrInvalid, "selector")
}
