package admin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// given is an object of a file: a spec, and the names of its fields.
func given(name string, o any, fields ...string) *adminv1.Wanted {
	s := &adminv1.Spec{Name: name}
	switch o := o.(type) {
	case *adminv1.NodeSpec:
		s.Object = &adminv1.Spec_Node{Node: o}
	case *adminv1.LVGSpec:
		s.Object = &adminv1.Spec_Lvg{Lvg: o}
	case *adminv1.PoolSpec:
		s.Object = &adminv1.Spec_Pool{Pool: o}
	case *adminv1.ClassSpec:
		s.Object = &adminv1.Spec_Class{Class: o}
	case *adminv1.VolumeSpec:
		s.Object = &adminv1.Spec_Volume{Volume: o}
	case *adminv1.QuotaSpec:
		s.Object = &adminv1.Spec_Quota{Quota: o}
	}
	return &adminv1.Wanted{Spec: s, Given: fields}
}

// aFile has one object of each kind.
func aFile() []*adminv1.Wanted {
	return []*adminv1.Wanted{
		given("n1", &adminv1.NodeSpec{Zone: "z1", Labels: map[string]string{"rack": "a"}}, "zone", "labels"),
		given("n1/vg0", &adminv1.LVGSpec{ThinPools: []string{"tp"}, StopDataPercent: 90}, "thin_pools", "stop_data_percent"),
		given("fast", &adminv1.PoolSpec{Storage: lvmOn("vg0")}, "storage"),
		given("gold", &adminv1.ClassSpec{Ftt: 1, Gmdr: 1, Pool: "fast"}, "ftt", "gmdr", "pool"),
		given("db-1", &adminv1.VolumeSpec{Class: "gold", Sizes: []int64{5000}}, "class", "sizes"),
	}
}

func results(r *adminv1.ApplyResponse) (out []string) {
	for _, a := range r.GetApplied() {
		out = append(out, a.GetKind()+" "+a.GetName()+" "+a.GetResult())
	}
	return out
}

func TestAFileIsAppliedOnceAndThenIsSo(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.group("n1", "vg0", 100)
	s := &objects{api: w.api}
	want := []string{"node n1 changed", "lvg n1/vg0 created", "pool fast created", "class gold created", "volume db-1 created"}

	dry, err := s.Apply(w.ctx, &adminv1.ApplyRequest{Objects: aFile(), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, results(dry)); diff != "" {
		t.Error(diff)
	}
	if _, there := get[*model.Class](w, "gold"); there {
		t.Error("a dry run was carried out")
	}

	done, err := s.Apply(w.ctx, &adminv1.ApplyRequest{Objects: aFile()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, results(done)); diff != "" {
		t.Error(diff)
	}
	l, _ := get[*model.LVG](w, "n1/vg0")
	c, _ := get[*model.Class](w, "gold")
	if l.StopDataPercent != 90 || l.OverProvisioningPercent != 200 || len(l.ThinPools) != 1 || c.Rollout != "RollingUpdate" || c.SystemNetworks != nil {
		t.Errorf("stored are %+v and %+v", l, c)
	}

	again, err := s.Apply(w.ctx, &adminv1.ApplyRequest{Objects: aFile()})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range again.GetApplied() {
		if a.GetResult() != unchanged || len(a.GetDifferences()) != 0 {
			t.Errorf("once more: %v", a)
		}
	}
}

func TestWhatIsExportedIsUnchangedWhenApplied(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.group("n1", "vg0", 100)
	s := &objects{api: w.api}
	if _, err := s.Apply(w.ctx, &adminv1.ApplyRequest{Objects: aFile()}); err != nil {
		t.Fatal(err)
	}
	generated := &model.Pool{Generated: true}
	generated.Name = "auto-1"
	w.put(generated)
	out, err := s.Export(w.ctx, &adminv1.ExportRequest{})
	if err != nil || len(out.GetObjects()) != 5 {
		t.Fatalf("%v, %v", out, err)
	}
	r := &adminv1.ApplyRequest{}
	for _, o := range out.GetObjects() {
		fields := o.ProtoReflect().Get(o.ProtoReflect().WhichOneof(o.ProtoReflect().Descriptor().Oneofs().ByName("object"))).Message()
		wanted := &adminv1.Wanted{Spec: o}
		for i := range fields.Descriptor().Fields().Len() {
			wanted.Given = append(wanted.Given, string(fields.Descriptor().Fields().Get(i).Name()))
		}
		r.Objects = append(r.Objects, wanted)
	}
	got, err := s.Apply(w.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got.GetApplied() {
		if a.GetResult() != unchanged {
			t.Errorf("got %v", a)
		}
	}
	some, err := s.Export(w.ctx, &adminv1.ExportRequest{Kinds: []string{"pool"}, Names: []string{"node/n1"}})
	if err != nil || len(some.GetObjects()) != 2 || kindOf(some.GetObjects()[0]) != "node" || kindOf(some.GetObjects()[1]) != "pool" {
		t.Errorf("got %v, %v", some, err)
	}
	_, err = s.Export(w.ctx, &adminv1.ExportRequest{Kinds: []string{"secret"}})
	refused(t, err, model.ErrInvalid, "kind secret")
	_, err = s.Export(w.ctx, &adminv1.ExportRequest{Names: []string{"class/none"}})
	refused(t, err, model.ErrNotFound, "class none: not found")
}

func TestWhatCannotBeAppliedChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		last *adminv1.Wanted
		kind error
		says string
	}{
		{"no kind", &adminv1.Wanted{Spec: &adminv1.Spec{Name: "x"}}, model.ErrInvalid, "of which kind"},
		{"the same object twice", given("gold", &adminv1.ClassSpec{Ftt: 1, Gmdr: 1, Pool: "fast"}, "ftt", "gmdr", "pool"), model.ErrInvalid, "twice"},
		{"a node that never joined", given("n9", &adminv1.NodeSpec{}), model.ErrNotFound, "a node joins by itself"},
		{"a zone that is no name", given("n2", &adminv1.NodeSpec{Zone: "Z 1"}, "zone"), model.ErrInvalid, "zone"},
		{"labels that are none", given("n2", &adminv1.NodeSpec{Labels: map[string]string{"a b": "c"}}, "labels"), model.ErrInvalid, "label"},
		{"a group without a node", given("vg0", &adminv1.LVGSpec{}), model.ErrInvalid, "NODE/VG"},
		{"a group that is not there", given("n1/vg9", &adminv1.LVGSpec{}), model.ErrNotFound, "no volume group vg9"},
		{"a percentage beyond sense", given("n2/vg0", &adminv1.LVGSpec{StopDataPercent: 300}, "stop_data_percent"), model.ErrInvalid, "1 to 100"},
		{"a pool of nothing", given("p2", &adminv1.PoolSpec{}), model.ErrInvalid, "made of"},
		{"a class that says not what it outlives", given("c", &adminv1.ClassSpec{Ftt: 1, Storage: lvmOn("vg0")}, "ftt", "storage"), model.ErrInvalid, "ftt and gmdr, or replication"},
		{"a class that says it twice", given("c", &adminv1.ClassSpec{Ftt: 1, Replication: "None", Storage: lvmOn("vg0")}, "ftt", "gmdr", "replication", "storage"), model.ErrInvalid, "the one or the other"},
		{"a class over a pool that is not there", given("c", &adminv1.ClassSpec{Pool: "none"}, "ftt", "gmdr", "pool"), model.ErrNotFound, "pool none"},
		{"a class that says what its pool says", given("c", &adminv1.ClassSpec{Pool: "fast", Zones: []string{"z1"}}, "ftt", "gmdr", "pool", "zones"), model.ErrInvalid, "zones is a matter of pool fast"},
		{"a volume of no class", given("v", &adminv1.VolumeSpec{Class: "none", Sizes: []int64{1}}, "class", "sizes"), model.ErrNotFound, "class none"},
		{"a volume without size", given("v", &adminv1.VolumeSpec{Class: "gold"}, "class"), model.ErrInvalid, "devices"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1")
			w.node("n2")
			w.group("n1", "vg0", 100)
			w.group("n2", "vg0", 100)
			before := w.Store.View().Index()
			_, err := (&objects{api: w.api}).Apply(w.ctx, &adminv1.ApplyRequest{Objects: append(aFile(), tc.last)})
			refused(t, err, tc.kind, tc.says)
			if w.Store.View().Index() != before {
				t.Error("something was written")
			}
		})
	}
}

func TestWhatAFileMayChange(t *testing.T) {
	for _, tc := range []struct {
		name   string
		object *adminv1.Wanted
		want   []*adminv1.Difference // nil: refused
		says   string
	}{
		{"labels go when none are given", given("n1", &adminv1.NodeSpec{}, "labels"), []*adminv1.Difference{{Field: "labels", From: "rack=a"}}, ""},
		{"what is not given stays", given("n1", &adminv1.NodeSpec{Zone: "z9", Unschedulable: true}, "unschedulable"), []*adminv1.Difference{{Field: "unschedulable", To: "true"}}, ""},
		{"a limit of a group", given("n1/vg0", &adminv1.LVGSpec{OverProvisioningPercent: 300}, "over_provisioning_percent"), []*adminv1.Difference{{Field: "over_provisioning_percent", From: "200", To: "300"}}, ""},
		{"a thin pool is not taken back", given("n1/vg0", &adminv1.LVGSpec{}, "thin_pools"), nil, "thin_pools: tp is missing"},
		{"thick volumes are not switched off", given("n1/vg0", &adminv1.LVGSpec{ThickOff: true}, "thick_off"), nil, "thick_off never changes"},
		{"what a pool is made of", given("fast", &adminv1.PoolSpec{Storage: lvmOn("vg1")}, "storage"), nil, "storage never changes"},
		{"the grace of a pool", given("fast", &adminv1.PoolSpec{NotReadyGrace: durationpb.New(1)}, "not_ready_grace"), nil, "not_ready_grace never changes"},
		{"properties of a pool", given("fast", &adminv1.PoolSpec{Properties: map[string]string{"k": "v"}}, "properties"), []*adminv1.Difference{{Field: "properties", To: "k=v"}}, ""},
		{"how a class is rolled out", given("gold", &adminv1.ClassSpec{Rollout: "NewVolumesOnly"}, "rollout"), []*adminv1.Difference{{Field: "rollout", From: "RollingUpdate", To: "NewVolumesOnly"}}, ""},
		{"the older name", given("gold", &adminv1.ClassSpec{Replication: "Consistency"}, "replication"), []*adminv1.Difference{{Field: "ftt", From: "1", To: "0"}}, ""},
		{"a topology", given("gold", &adminv1.ClassSpec{Topology: "Zonal"}, "topology"), nil, "topology never changes, for replicas were placed by it: it is Ignored, asked was Zonal"},
		{"another pool", given("gold", &adminv1.ClassSpec{Pool: "p"}, "pool"), nil, "pool never changes"},
		{"the class of a volume", given("db-1", &adminv1.VolumeSpec{Class: "r2"}, "class"), nil, "class is not changed by a file"},
		{"the size of a volume", given("db-1", &adminv1.VolumeSpec{Sizes: []int64{1 << 20}}, "sizes"), nil, "it is 8 KiB, asked was 1 MiB"},
		{"the same size, not rounded", given("db-1", &adminv1.VolumeSpec{Sizes: []int64{5001}}, "sizes"), []*adminv1.Difference{}, ""},
		{"attachments of a volume", given("db-1", &adminv1.VolumeSpec{MaxAttachments: 2, Stopped: true}, "max_attachments", "stopped"), []*adminv1.Difference{{Field: "max_attachments", From: "1", To: "2"}, {Field: "stopped", To: "true"}}, ""},
		{"too many attachments", given("db-1", &adminv1.VolumeSpec{MaxAttachments: 3}, "max_attachments"), nil, "1 to 2"},
		{"a field that there is not", given("gold", &adminv1.ClassSpec{}, "colour"), nil, `unknown field "colour"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1")
			w.group("n1", "vg0", 100)
			s := &objects{api: w.api}
			if _, err := s.Apply(w.ctx, &adminv1.ApplyRequest{Objects: aFile()}); err != nil {
				t.Fatal(err)
			}
			got, err := s.Apply(w.as(identity.Admin, "once"), &adminv1.ApplyRequest{Objects: []*adminv1.Wanted{tc.object}})
			if tc.want == nil {
				refused(t, err, model.ErrInvalid, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := &adminv1.Applied{Kind: kindOf(tc.object.GetSpec()), Name: tc.object.GetSpec().GetName(), Result: changed, Differences: tc.want}
			if len(tc.want) == 0 {
				want.Result, want.Differences = unchanged, nil
			}
			if diff := cmp.Diff(want, got.GetApplied()[0], protocmp.Transform(), protocmp.IgnoreFields(&adminv1.Applied{}, "revision")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
