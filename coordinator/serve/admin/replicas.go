package admin

import adminv1 "rvol/proto/admin/v1"

type replicas struct {
	adminv1.UnimplementedReplicasServer
	*api
}
