package packaging

import "embed"

// Files are systemd/, sysusers.d/, modules-load.d/ and udev/.
//
//go:embed systemd sysusers.d modules-load.d udev
var Files embed.FS
