package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ErrToolMissing is what every *MissingToolError is.
var ErrToolMissing = errors.New("tool is not installed")

// ErrOutputTooLong says that a tool wrote more than maxOutput.
var ErrOutputTooLong = fmt.Errorf("output is longer than %d MiB", maxOutput>>20)

// An ExitError is a tool that ran to its end and refused.
type ExitError struct {
	argv   []string
	code   int
	signal string
	stderr []byte
}

// Error names the tool, not its arguments, and the last thing it said.
func (e *ExitError) Error() string {
	s := fmt.Sprintf("%s: exit status %d", e.argv[0], e.code)
	if e.signal != "" {
		s = fmt.Sprintf("%s: killed by signal: %s", e.argv[0], e.signal)
	}
	text := strings.TrimSpace(string(e.stderr))
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if text != "" {
		s += ": " + strings.TrimSpace(text)
	}
	return s
}

// ExitCode is the tool's exit status, or -1 when a signal ended it.
func (e *ExitError) ExitCode() int { return e.code }

// Stderr is everything the tool wrote to its standard error.
func (e *ExitError) Stderr() []byte { return e.stderr }

// A DeadlineError is a tool that was ended because its time was up, or because
// whoever waited for it had gone.
type DeadlineError struct {
	Argv  []string
	Cause error
}

// Error names the tool and why it was ended.
func (e *DeadlineError) Error() string { return fmt.Sprintf("%s: ended: %v", e.Argv[0], e.Cause) }

// Unwrap gives the cause: context.DeadlineExceeded or context.Canceled.
func (e *DeadlineError) Unwrap() error { return e.Cause }

// A MissingToolError is a tool that is in none of the folders searched.
type MissingToolError struct {
	Tool    string
	Package string // of Debian; "" when unknown
}

// Error names the tool and the package to install.
func (e *MissingToolError) Error() string {
	if e.Package == "" {
		return fmt.Sprintf("%s: %v", e.Tool, ErrToolMissing)
	}
	return fmt.Sprintf("%s: %v: install package %s", e.Tool, ErrToolMissing, e.Package)
}

// Is makes it both ErrToolMissing and fs.ErrNotExist, for those who do not
// import this package.
func (e *MissingToolError) Is(target error) bool {
	return target == ErrToolMissing || target == fs.ErrNotExist
}

// debianPackage says which package brings a tool.
func debianPackage(tool string) string {
	switch base := path.Base(tool); {
	case strings.HasPrefix(base, "drbd"):
		return "drbd-utils"
	case base == "lvm", strings.HasPrefix(base, "lv"), strings.HasPrefix(base, "vg"), strings.HasPrefix(base, "pv"):
		return "lvm2"
	case base == "wipefs", base == "blkdiscard", base == "blkid":
		return "util-linux"
	case strings.HasPrefix(base, "thin_"):
		return "thin-provisioning-tools"
	case base == "modprobe":
		return "kmod"
	default:
		return ""
	}
}
