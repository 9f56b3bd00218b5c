package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rvol/agent/decide"
	"rvol/agent/observe"
)

// drbdUnits bring up and down all resources they find, ours among them.
// drbd-reactor.service does not: it touches what it is told to.
var drbdUnits = []string{"drbd.service", "drbd@*", "drbd-*@*"}

// unitCondition looks for those of them that start at boot.
func unitCondition(root string) decide.Condition {
	const kind = "DRBDServiceDisabled"
	for _, dir := range []string{"etc/systemd/system/*.wants", "etc/systemd/system/*.requires", "usr/lib/systemd/system/*.wants"} {
		for _, unit := range drbdUnits {
			wanted, _ := filepath.Glob(filepath.Join(root, dir, unit)) // the pattern is well-formed
			if len(wanted) > 0 {
				unit := filepath.Base(wanted[0])
				return bad(kind, "Enabled", unit+" is enabled and would bring rvol's resources up and down: run `systemctl disable "+unit+"`")
			}
		}
	}
	return good(kind)
}

// helperCondition: without its helper DRBD breaks off connections instead of
// resyncing.
func helperCondition(root string, d observe.DRBDView) decide.Condition {
	const kind = "DRBDHelperUsable"
	b, err := os.ReadFile(filepath.Join(root, "sys/module/drbd/parameters/usermode_helper"))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(kind, "NotLoaded", "the DRBD module is not loaded")
	}
	helper := strings.TrimSpace(string(b))
	if err == nil && helper == "disabled" {
		if d.Version.Is84() {
			return bad(kind, "Disabled", "DRBD asks nobody when it loses its peer, and I/O stays frozen then: set the module parameter usermode_helper=/sbin/drbdadm")
		}
		return good(kind)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(root, helper))
	}
	if err != nil {
		return bad(kind, "Missing", fmt.Sprintf("DRBD's helper %q cannot be run (%v): install drbd-utils, or set the module parameter usermode_helper", helper, err))
	}
	return good(kind)
}

// includeCondition: what drbdadm does not read it does not know, nor does the
// kernel's helper, which is drbdadm.
func includeCondition(root string) decide.Condition {
	const kind = "DRBDReadsOurFiles"
	file := filepath.Join(root, "etc/drbd.conf")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(kind, "NotThere", "there is no /etc/drbd.conf: install drbd-utils")
	}
	if err != nil {
		return unknown(kind, "Unreadable", err.Error())
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		pattern, is := strings.CutPrefix(strings.TrimSpace(lines.Text()), "include ")
		if !is {
			continue
		}
		pattern = strings.TrimPrefix(strings.Trim(pattern, "\"; \t"), "/etc/")
		if ours, err := filepath.Match(pattern, "drbd.d/rvol.res"); ours && err == nil {
			return good(kind)
		}
	}
	return bad(kind, "NotIncluded", "/etc/drbd.conf does not include drbd.d/*.res, and so not rvol's files: add the line `include \"drbd.d/*.res\";`")
}

// versionCondition: what older versions get wrong nobody has tried with rvol.
func versionCondition(d observe.DRBDView) decide.Condition {
	const kind = "DRBDVersionSupported"
	switch {
	case d.Missing != "":
		return unknown(kind, "NotThere", d.Missing)
	case !d.Seen || !d.Version.Loaded():
		return unknown(kind, "NotLoaded", "the DRBD module has not been seen yet")
	case !d.Version.Supported():
		return bad(kind, "TooOld", fmt.Sprintf("the DRBD module is %s, whose defects may cost data: update it to 9.2.19, 9.3.3 or newer, and reboot", d.Version.Kernel))
	}
	return good(kind)
}
