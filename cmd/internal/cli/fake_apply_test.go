package cli_test

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	adminv1 "rvol/proto/admin/v1"
)

type fakeObjects struct {
	adminv1.UnimplementedObjectsServer
	f *fake
}

// Apply knows class r2, whose topology never changes, and nothing else.
func (c fakeObjects) Apply(_ context.Context, r *adminv1.ApplyRequest) (*adminv1.ApplyResponse, error) {
	out := &adminv1.ApplyResponse{}
	for _, w := range r.GetObjects() {
		key := kindOf(w.GetSpec()) + "/" + w.GetSpec().GetName()
		a := &adminv1.Applied{Kind: kindOf(w.GetSpec()), Name: w.GetSpec().GetName(), Result: "created"}
		for _, f := range w.GetGiven() {
			d := &adminv1.Difference{Field: f, To: "new"}
			if key == "class/r2" {
				a.Result, d.From = "changed", "old"
			}
			if key == "class/r2" && f == "topology" {
				return nil, refusal(codes.InvalidArgument, "class r2: topology never changes, for replicas were placed by it: it is Ignored, asked was Zonal",
					&adminv1.Refusal{Object: key, Next: "make another class, and volumes in it"})
			}
			a.Differences = append(a.Differences, d)
		}
		if len(w.GetGiven()) == 0 {
			a.Result = "unchanged"
		}
		out.Applied = append(out.Applied, a)
	}
	return out, nil
}

func (c fakeObjects) Export(context.Context, *adminv1.ExportRequest) (*adminv1.ExportResponse, error) {
	return &adminv1.ExportResponse{Objects: sampleSpecs()}, nil
}

func kindOf(s *adminv1.Spec) string {
	r := s.ProtoReflect()
	return string(r.WhichOneof(r.Descriptor().Oneofs().ByName("object")).Name())
}

// sampleSpecs has one object of each kind, with a value in every field that may have one.
func sampleSpecs() []*adminv1.Spec {
	labels := map[string]string{"rack": "a", "odd": "yes"}
	return []*adminv1.Spec{
		{Name: "n1", Object: &adminv1.Spec_Node{Node: &adminv1.NodeSpec{Labels: labels, Zone: "z1", Unschedulable: true}}},
		{Name: "n1/vg0", Object: &adminv1.Spec_Lvg{Lvg: &adminv1.LVGSpec{
			ThinPools: []string{"tp0", "tp1"}, OverProvisioningPercent: 200, StopDataPercent: 95, StopMetadataPercent: 90,
		}}},
		{Name: "fast", Object: &adminv1.Spec_Pool{Pool: &adminv1.PoolSpec{
			Storage: &adminv1.Storage{Type: "LVMThin", Selector: "disk in (nvme,ssd)", ThinPool: "tp0"}, Zones: []string{"z1", "z2"},
			NodeSelector: "rack!=b", SystemNetworks: []string{"default"}, NotReadyGrace: durationpb.New(10 * time.Minute),
		}}},
		{Name: "r2", Object: &adminv1.Spec_Class{Class: &adminv1.ClassSpec{
			Ftt: 1, Topology: "TransZonal", VolumeAccess: "Any", Storage: &adminv1.Storage{Type: "LVM", Vgs: []string{"vg0", "vg1"}},
			SystemNetworks: []string{"default"}, NotReadyGrace: durationpb.New(0), Rollout: "RollingUpdate", RolloutMaxParallel: 5,
			Conflict: "Manual", ConflictMaxParallel: 1, RepairAfter: durationpb.New(90 * time.Minute), OnNoQuorum: "io-error",
			Wipe: "zero", TrustZeroed: true, VerifyEvery: durationpb.New(7 * 24 * time.Hour), Drbd: map[string]string{"c-max-rate": "100M"},
		}}},
		{Name: "db-1", Object: &adminv1.Spec_Volume{Volume: &adminv1.VolumeSpec{
			Properties: map[string]string{"note": "a: b\nc"}, Class: "r2", Sizes: []int64{10 * gib, 4096, 12345}, AttachTo: []string{"n1"}, MaxAttachments: 2,
		}}},
	}
}

func (c fakeClasses) Explain(_ context.Context, r *adminv1.ExplainRequest) (*adminv1.ClassExplanation, error) {
	class, err := find("class", c.f.world.classes, r.GetName())
	if err != nil {
		return nil, err
	}
	return &adminv1.ClassExplanation{
		Class: class, Diskful: 2, TieBreakers: 1, Quorum: 2, QuorumMinimumRedundancy: 1,
		Copies:  "2 copies on 2 nodes and a tie-breaker without data on one more, in any zones.",
		Access:  "Any 1 node may fail and the volume stays usable.",
		Data:    "The volume may go on with a single copy: what is written then is lost with it.",
		Storage: "Pool r2, made from LVMThin vg0/tp0 of this class.",
		Verdict: "FTT=1, GMDR=0 (2D+1TB): requires at least 3 nodes, have 2 (1 missing)",
		Zones:   []*adminv1.ZoneNodes{{Zone: "z1", Nodes: 1, WithStorage: 1, Ready: 1}, {Zone: "z2", Nodes: 1, WithStorage: 1}},
		InForce: "Until the nodes can hold generation 2, volumes get generation 1: FTT 0, GMDR 1 (2D).",
		Rollout: &adminv1.Rollout{
			Strategy: "RollingUpdate", Message: "1 at a time; running db-1; 1 waiting", Running: []string{"db-1"}, Waiting: []string{"db-2"},
			Held: []*adminv1.HeldVolume{{Volume: "db-3", Reason: "it is not formed yet"}},
		},
		Repair: &adminv1.Rollout{Strategy: "Manual", Message: "nothing to do"},
	}, nil
}

func (c fakePools) Explain(_ context.Context, r *adminv1.ExplainRequest) (*adminv1.PoolExplanation, error) {
	pool, err := find("pool", c.f.world.pools, r.GetName())
	if err != nil {
		return nil, err
	}
	return &adminv1.PoolExplanation{Pool: pool, Message: "2 eligible nodes", Nodes: []*adminv1.NodeVerdict{
		{Node: "n1", Zone: "z1", Eligible: true, Lvgs: []*adminv1.LVGVerdict{{Vg: "vg0", ThinPool: "tp0", Ready: true}}},
		{Node: "n2", Zone: "z2", Eligible: true, Reason: "cordoned", Lvgs: []*adminv1.LVGVerdict{{Vg: "vg0", ThinPool: "tp0", Reason: "Missing: gone"}}},
		{Node: "n3", Reason: "NotReady for longer than 10m"},
	}}, nil
}

func (c fakePools) Set(_ context.Context, r *adminv1.SetPoolRequest) (*adminv1.Pool, error) {
	return find("pool", c.f.world.pools, r.GetName())
}
