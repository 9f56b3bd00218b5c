package admin

import adminv1 "rvol/proto/admin/v1"

type pools struct {
	adminv1.UnimplementedPoolsServer
	*api
}
