package admin

import adminv1 "rvol/proto/admin/v1"

type nodes struct {
	adminv1.UnimplementedNodesServer
	*api
}
