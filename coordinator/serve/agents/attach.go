package agents

import (
	"context"
	"fmt"
	"slices"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
)

// Attach goes through the admin API, after what a machine may not do for itself is refused:
// reach data that nobody placed on it, and take a volume from another node.
func (s *service) Attach(ctx context.Context, r *agentv1.AttachRequest) (*agentv1.AttachResponse, error) {
	node := door.From(ctx).ID.Name
	if err := mayUse(s.Store.View(), r.GetVolume(), node); err != nil {
		return nil, err
	}
	at, err := s.Volumes.Attach(ctx, &adminv1.AttachRequest{Volume: r.GetVolume(), Node: node})
	if err != nil {
		return nil, err
	}
	ready := slices.ContainsFunc(at.GetConditions(), func(c *adminv1.Condition) bool {
		return c.GetType() == "Ready" && c.GetStatus() == string(model.True)
	})
	return &agentv1.AttachResponse{Ready: ready, Device: at.GetDevice(), Message: at.GetMessage()}, nil
}

// mayUse says why a node may not attach a volume by its own word.
func mayUse(v state.View, volume, node string) error {
	vol, ok := state.Get[*model.Volume](v, volume)
	if !ok {
		return door.NotFound(model.Key{Kind: "volume", Name: volume})
	}
	if _, already := state.Get[*model.Attachment](v, model.AttachmentName(volume, node)); already {
		return nil
	}
	if r, here := v.ReplicaOn(node, volume); !here || r.Deleting() {
		return door.Refuse(model.ErrForbidden, vol.Key(), fmt.Sprintf("node %s has no replica of it, and may not give itself one", node),
			fmt.Sprintf("an operator may: `rvol replica add %s --type Access --to %s`", volume, node))
	}
	users := 0
	for a := range state.Under[*model.Attachment](v, volume+"/") {
		if users++; users >= max(1, vol.MaxAttachments) {
			return door.Refuse(model.ErrForbidden, vol.Key(), "in use on node "+a.Node+", and a machine takes no volume from another",
				fmt.Sprintf("an operator may: `rvol volume detach %s %s`", volume, a.Node))
		}
	}
	return nil
}

// Detach is for the caller's own use of a volume; where there is none it is over.
func (s *service) Detach(ctx context.Context, r *agentv1.DetachRequest) (*agentv1.DetachResponse, error) {
	node := door.From(ctx).ID.Name
	a, attached := state.Get[*model.Attachment](s.Store.View(), model.AttachmentName(r.GetVolume(), node))
	if !attached {
		return &agentv1.DetachResponse{Gone: true}, nil
	}
	done, err := s.Volumes.Detach(ctx, &adminv1.AttachRequest{Volume: r.GetVolume(), Node: node})
	if err != nil {
		return nil, err
	}
	out := &agentv1.DetachResponse{Message: done.GetMessage()}
	if a.Message != "" {
		out.Message = a.Message // why it was refused the last time
	}
	return out, nil
}
