package packaging

import "embed"

// Files are systemd/, sysusers.d/ and modules-load.d/.
//
//go:embed systemd sysusers.d modules-load.d
var Files embed.FS
