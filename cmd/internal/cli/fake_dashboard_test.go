package cli_test

import (
	"context"

	adminv1 "rvol/proto/admin/v1"
)

type fakeDashboard struct {
	adminv1.UnimplementedDashboardServer
}

func (fakeDashboard) Link(context.Context, *adminv1.DashboardLinkRequest) (*adminv1.DashboardLink, error) {
	return &adminv1.DashboardLink{
		Url: "https://localhost:7174/login#K5UQ", ExpiresAt: at(-2 * minute), SessionEndsAt: at(-480 * minute),
		Coordinator: "c1", Fingerprint: "0a1b2c", Local: true,
	}, nil
}
