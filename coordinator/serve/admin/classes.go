package admin

import adminv1 "rvol/proto/admin/v1"

type classes struct {
	adminv1.UnimplementedClassesServer
	*api
}
