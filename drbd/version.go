package drbd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Number is a version number such as 9.3.3.
type Number struct{ Major, Minor, Patch int }

// AtLeast says that n is not older than the version named.
func (n Number) AtLeast(major, minor, patch int) bool {
	if n.Major != major {
		return n.Major > major
	}
	if n.Minor != minor {
		return n.Minor > minor
	}
	return n.Patch >= patch
}

// String gives "9.3.3".
func (n Number) String() string { return fmt.Sprintf("%d.%d.%d", n.Major, n.Minor, n.Patch) }

// Version is what is installed: the kernel module and the tools.
type Version struct {
	Kernel Number // zero while the module is not loaded
	Tools  Number // drbd-utils
}

// Is84 says that the kernel module is of the 8.4 line.
func (v Version) Is84() bool { return v.Kernel.Major == 8 }

// Loaded says that a kernel module was there to ask.
func (v Version) Loaded() bool { return v.Kernel != Number{} }

// Supported says whether the kernel module is one that rvol was proven on: 8.4,
// 9.2 from 9.2.19 on, and 9.3.3 and newer. Older ones of 9 lose connections and
// bitmaps in ways that were mended there.
func (v Version) Supported() bool {
	switch k := v.Kernel; {
	case k.Major == 8:
		return k.AtLeast(8, 4, 0)
	case k.Major == 9 && k.Minor == 2:
		return k.AtLeast(9, 2, 19)
	default:
		return k.AtLeast(9, 3, 3)
	}
}

// String gives "DRBD 9.3.3, drbd-utils 9.22.0".
func (v Version) String() string {
	if !v.Loaded() {
		return "DRBD not loaded, drbd-utils " + v.Tools.String()
	}
	return "DRBD " + v.Kernel.String() + ", drbd-utils " + v.Tools.String()
}

// Detect asks which versions are installed, before a Tool can be made:
//
//	drbdadm --version
func Detect(ctx context.Context, run Runner) (Version, error) {
	argv := []string{"drbdadm", "--version"}
	out, err := run(ctx, argv...)
	if err != nil {
		return Version{}, failure(argv, err)
	}
	return ParseVersion(out)
}

// ParseVersion reads what drbdadm --version prints: lines of NAME=value with
// the versions as hexadecimal codes.
func ParseVersion(out []byte) (Version, error) {
	var v Version
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		var into *Number
		switch name {
		case "DRBD_KERNEL_VERSION_CODE":
			into = &v.Kernel
		case "DRBDADM_VERSION_CODE":
			into = &v.Tools
		default:
			continue
		}
		code, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return Version{}, fmt.Errorf("parse drbdadm --version: %w", err)
		}
		*into = Number{Major: int(code >> 16), Minor: int(code >> 8 & 0xff), Patch: int(code & 0xff)}
	}
	if v.Tools == (Number{}) {
		return Version{}, errors.New("parse drbdadm --version: no DRBDADM_VERSION_CODE")
	}
	return v, nil
}
