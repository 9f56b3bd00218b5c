package admin

import adminv1 "rvol/proto/admin/v1"

type attachments struct {
	adminv1.UnimplementedAttachmentsServer
	*api
}
