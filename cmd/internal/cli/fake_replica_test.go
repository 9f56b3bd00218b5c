package cli_test

import (
	"context"

	adminv1 "rvol/proto/admin/v1"
)

// begun is the answer of a cluster that begins a change; with the plan "now/v1" it is over at once.
func (c fakeReplicas) begun(volume, plan, title string) (*adminv1.TransitionBegun, error) {
	v, err := find("volume", c.f.world.volumes, volume)
	return &adminv1.TransitionBegun{Volume: v, Transition: &adminv1.Transition{Plan: plan, Title: title}}, err
}

func (c fakeReplicas) Add(_ context.Context, r *adminv1.AddReplicaRequest) (*adminv1.TransitionBegun, error) {
	return c.begun(r.GetVolume(), "add-diskful/v1", "add "+r.GetType()+" to "+r.GetTo().GetNode())
}

func (c fakeReplicas) Move(_ context.Context, r *adminv1.MoveReplicaRequest) (*adminv1.TransitionBegun, error) {
	return c.begun("db-1", "replace-diskful/v1", "move "+r.GetName()+" to "+r.GetTo().GetNode()+"/"+r.GetTo().GetVg())
}

func (c fakeReplicas) Remove(_ context.Context, r *adminv1.RemoveReplicaRequest) (*adminv1.TransitionBegun, error) {
	return c.begun("db-1", "remove-diskful/v1", "remove "+r.GetName()+" confirmed by '"+r.GetConfirm()+"'")
}

func (c fakeReplicas) Retype(_ context.Context, r *adminv1.RetypeReplicaRequest) (*adminv1.TransitionBegun, error) {
	return c.begun("db-1", "change-type/v1", "make "+r.GetName()+" a "+r.GetType())
}

func (c fakeVolumes) Cancel(_ context.Context, r *adminv1.CancelRequest) (*adminv1.Volume, error) {
	return find("volume", c.f.world.volumes, r.GetName())
}
