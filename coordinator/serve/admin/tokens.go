package admin

import adminv1 "rvol/proto/admin/v1"

type tokens struct {
	adminv1.UnimplementedTokensServer
	*api
}
