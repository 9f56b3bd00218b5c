package admin

import (
	"context"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// Visitor is who asks for a link, and until when the certificate is good that was shown.
type Visitor struct {
	ID    identity.ID
	Key   identity.Fingerprint
	Until time.Time
}

type dashboard struct {
	adminv1.UnimplementedDashboardServer
	*api
}

// Link lets a browser look around in the caller's name.
func (s *dashboard) Link(ctx context.Context, _ *adminv1.DashboardLinkRequest) (*adminv1.DashboardLink, error) {
	if s.Config.Link == nil {
		return nil, door.Refuse(model.ErrBusy, model.Key{Kind: model.KindMember, Name: s.Name}, "it serves no dashboard",
			"set RVOL_COORDINATOR_DASHBOARD on its machine, or ask another coordinator with --endpoint")
	}
	c := door.From(ctx)
	return s.Config.Link(Visitor{ID: c.ID, Key: c.Key, Until: c.Until})
}
