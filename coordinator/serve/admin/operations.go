package admin

import adminv1 "rvol/proto/admin/v1"

type operations struct {
	adminv1.UnimplementedOperationsServer
	*api
}
