package cli_test

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

func torn() []*adminv1.Side {
	since := timestamppb.New(now.Add(-3 * time.Minute))
	return []*adminv1.Side{
		{Id: 0, Node: "n1", Disk: "UpToDate", Role: "Primary", Used: "attached", Generations: []string{"70A4743E6FD3BC08:CB8530099D8D25F2"}, Apart: []*adminv1.ApartFrom{{Id: 1, Since: since, OutOfSync: 65536, Split: true}}},
		{Id: 1, Node: "n2", Disk: "UpToDate", Role: "Secondary", Generations: []string{"677B70373123ADDA:CB8530099D8D25F2"}, Apart: []*adminv1.ApartFrom{{Id: 0, Since: since, OutOfSync: 4096, Split: true}}},
	}
}

func (c fakeVolumes) Resolve(_ context.Context, r *adminv1.ResolveVolumeRequest) (*adminv1.BrokenVolume, error) {
	v, err := find("volume", c.f.world.volumes, r.GetName())
	out := &adminv1.BrokenVolume{Volume: v, Sides: torn()}
	if r.Keep != nil {
		out.Lost = []string{"replica 1 on n2 gives up what it was written alone: 4096 bytes"}
	}
	return out, err
}

func (c fakeVolumes) Recover(_ context.Context, r *adminv1.RecoverVolumeRequest) (*adminv1.BrokenVolume, error) {
	v, err := find("volume", c.f.world.volumes, r.GetName())
	return &adminv1.BrokenVolume{
		Volume: v, Lost: []string{"replica 1 on n2 is Outdated: what was acknowledged after it was left behind is lost"},
		Sides: []*adminv1.Side{
			{Id: 0, Node: "n1", Disk: "Unknown", Role: "Unknown", Message: "no report; the node is fenced"},
			{Id: 1, Node: "n2", Disk: "Outdated", Role: "Secondary"},
		},
	}, err
}

func (c fakeVolumes) Verify(_ context.Context, r *adminv1.VerifyVolumeRequest) (*adminv1.Volume, error) {
	v, err := find("volume", c.f.world.volumes, r.GetName())
	if err != nil {
		return nil, err
	}
	v.Verification = &adminv1.Verification{
		Phase: "Done", Source: 0, StartedAt: timestamppb.New(now.Add(-2 * time.Minute)), EndedAt: timestamppb.New(now.Add(-time.Minute)),
		Copies: []*adminv1.VerifiedCopy{{Id: 1, Compared: true, OutOfSync: 4096, Repaired: r.GetRepair()}},
	}
	c1 := &adminv1.Condition{Type: "Verified", Status: "False", Reason: "DifferencesFound", Message: "replica 1 differs from replica 0 in 4096 bytes"}
	if r.GetRepair() {
		c1 = &adminv1.Condition{Type: "Verified", Status: "True", Reason: "Repaired", Message: "4096 bytes were copied from replica 0 to 1"}
	}
	v.Conditions = append(v.Conditions, c1)
	return v, nil
}
