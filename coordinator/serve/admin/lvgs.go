package admin

import adminv1 "rvol/proto/admin/v1"

type lvgs struct {
	adminv1.UnimplementedLVGsServer
	*api
}
