package observe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// lookAtSettings asks for LVM's version and settings when the files that they
// come from are not those of the last time.
func (l *LVM) lookAtSettings(ctx context.Context) {
	stamp := l.stampOf()
	l.mu.Lock()
	known := l.stamp == stamp && l.configErr == ""
	l.mu.Unlock()
	if known {
		return
	}
	version, err := l.tool.Version(ctx)
	if err == nil {
		settings, failed := l.tool.Settings(ctx)
		l.mu.Lock()
		l.settings, err = settings, failed
		l.mu.Unlock()
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version, l.stamp, l.configErr = version, stamp, ""
	if err != nil {
		l.configErr = err.Error()
	}
}

// stampOf changes when LVM's programs or settings do.
func (l *LVM) stampOf() string {
	var b strings.Builder
	for _, pattern := range []string{"etc/lvm/*.conf", "etc/lvm/profile/*", "sbin/lvm", "usr/sbin/lvm"} {
		files, _ := filepath.Glob(filepath.Join(l.root, pattern)) // the pattern is well-formed
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				fmt.Fprintf(&b, "%s %d %d\n", file, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}
