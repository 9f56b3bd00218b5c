package admin

import adminv1 "rvol/proto/admin/v1"

type events struct {
	adminv1.UnimplementedEventsServer
	*api
}
