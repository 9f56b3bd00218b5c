package admin

import adminv1 "rvol/proto/admin/v1"

type cluster struct {
	adminv1.UnimplementedClusterServer
	*api
}
