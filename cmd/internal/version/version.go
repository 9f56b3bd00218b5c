// Package version tells which build this program is.
package version

import "runtime/debug"

// Version is set by the linker (see the Makefile); empty in a plain go build.
var Version string

// String is the version of this program: what the build was told, else what the Go
// toolchain recorded.
func String() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
