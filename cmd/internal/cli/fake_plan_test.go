package cli_test

import (
	"context"

	"google.golang.org/protobuf/proto"

	adminv1 "rvol/proto/admin/v1"
)

type fakePlans struct {
	adminv1.UnimplementedPlansServer
	f *fake
}

func (c fakePlans) Placement(_ context.Context, r *adminv1.PlanPlacementRequest) (*adminv1.Decision, error) {
	d := sampleDecision()
	if r.GetClass() == "full" {
		d.Placed = false
		for _, p := range d.GetReplicas() {
			p.Node, p.Vg, p.Chosen, p.Reason = "", "", false, "SchedulingFailed"
			p.Message, p.Alternatives = p.GetSummary(), nil
		}
		return d, nil
	}
	_, err := find("class", c.f.world.classes, r.GetClass())
	return d, err
}

func (c fakePlans) ExplainVolume(_ context.Context, r *adminv1.ExplainVolumeRequest) (*adminv1.VolumeExplanation, error) {
	d := sampleDecision()
	d.Entry, d.At, d.Search = 41, at(minute), "replica 1 (Diskful): no place: placement of the whole layout: replica 1 on n2/vg0"
	_, err := find("volume", c.f.world.volumes, r.GetName())
	return &adminv1.VolumeExplanation{
		Volume: r.GetName(), Decisions: []*adminv1.Decision{d},
		Now: []*adminv1.DecisionReplica{{Id: 0, Type: "Diskful", Node: "n1", Vg: "vg0", Reason: "Scheduled"}},
	}, err
}

func sampleDecision() *adminv1.Decision {
	parts := []*adminv1.ScorePart{{Rule: "capacity", Points: 7}, {Rule: "attach-to", Points: 1000}}
	return &adminv1.Decision{
		Placed: true, Size: 10 * gib,
		Replicas: []*adminv1.DecisionReplica{
			{
				Id: 0, Type: "Diskful", Node: "n1", Vg: "vg0", Chosen: true, Reason: "Scheduled",
				Summary: "2 candidates (node×LVG) from 2 eligible nodes; 1 excluded: node not ready",
				Alternatives: []*adminv1.Alternative{
					{Node: "n1", Vg: "vg0", Zone: "a", Chosen: true, Score: 1007, Parts: parts, Available: 20 * gib},
					{Node: "n2", Vg: "vg0", Zone: "b", ExcludedBy: "node not ready", Available: gib},
				},
				Omitted: 3,
			},
			{Id: 1, Type: "TieBreaker", Node: "n3", Chosen: true, BySearch: true, Reason: "Scheduled"},
		},
	}
}

type fakeHolds struct {
	adminv1.UnimplementedHoldsServer
}

func sampleHold() *adminv1.Hold {
	return &adminv1.Hold{Meta: newMeta("spare"), Lvg: "n1/vg0", Size: 10 * gib}
}

func (fakeHolds) List(context.Context, *adminv1.ListRequest) (*adminv1.ListHoldsResponse, error) {
	return &adminv1.ListHoldsResponse{Holds: []*adminv1.Hold{sampleHold()}}, nil
}

func (fakeHolds) Create(_ context.Context, r *adminv1.CreateHoldRequest) (*adminv1.Hold, error) {
	return &adminv1.Hold{Meta: newMeta(r.GetName()), Lvg: r.GetLvg(), ThinPool: r.GetThinPool(), Size: r.GetSize()}, nil
}

func (fakeHolds) Delete(context.Context, *adminv1.DeleteRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99, Message: "is given back"}, nil
}

// Resize grows a volume at once, as a cluster does whose copies have room already.
func (c fakeVolumes) Resize(_ context.Context, r *adminv1.ResizeVolumeRequest) (*adminv1.Volume, error) {
	v, err := find("volume", c.f.world.volumes, r.GetName())
	if err == nil && !r.GetAbort() {
		to := []*adminv1.VolumeDevice{{Size: (r.GetDevices()[0].GetSize() + 4095) / 4096 * 4096}}
		answer := proto.CloneOf(v)
		if v.GetDevices()[0].GetSize() < to[0].GetSize() {
			answer.Transitions = append(answer.Transitions, &adminv1.Transition{Type: "ResizeVolume", Devices: to})
		}
		v.Devices = to
		return answer, nil
	}
	return v, err
}
