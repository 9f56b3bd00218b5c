package admin

import adminv1 "rvol/proto/admin/v1"

type volumes struct {
	adminv1.UnimplementedVolumesServer
	*api
}
