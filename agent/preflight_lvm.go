package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"rvol/agent/decide"
	"rvol/agent/observe"
)

// drbdNames are those of a device of ours.
var drbdNames = []string{"/dev/drbd10000", "/dev/drbd/by-res/rvol-x/0", "/dev/rvol/x"}

// filterCondition: LVM opens what it looks at, and takes volume groups that a
// user made inside a volume for the machine's own.
func filterCondition(root string, l observe.LVMView) decide.Condition {
	const (
		kind   = "LVMIgnoresDRBD"
		remedy = "write `devices { global_filter = [ \"r|^/dev/drbd|\", \"r|^/dev/rvol/|\" ] }` into /etc/lvm/lvmlocal.conf, with what filters there are"
	)
	s := l.Settings
	switch {
	case l.SettingsErr != "":
		return unknown(kind, "Unknown", l.SettingsErr)
	case s.ScanLVs:
		return bad(kind, "ScansVolumes", "LVM looks for volume groups inside of logical volumes, rvol's among them: set devices/scan_lvs=0 in /etc/lvm/lvm.conf")
	case s.DevicesFile != "":
		return devicesFileCondition(root, kind, s.DevicesFile)
	}
	hidden, err := s.Hides(drbdNames...)
	switch {
	case err != nil:
		return unknown(kind, "Unknown", err.Error())
	case !hidden:
		return bad(kind, "NotFiltered", "LVM looks for volume groups on /dev/drbd*: "+remedy)
	}
	return good(kind)
}

// devicesFileCondition: where LVM has a list of devices, filters do not count.
func devicesFileCondition(root, kind, name string) decide.Condition {
	text, err := os.ReadFile(filepath.Join(root, "etc/lvm/devices", filepath.Base(name)))
	if err != nil {
		return unknown(kind, "Unknown", fmt.Sprintf("LVM's list of devices cannot be read: %v", err))
	}
	for line := range bytes.Lines(text) {
		if entry := string(line); !strings.HasPrefix(entry, "#") && strings.Contains(entry, "/dev/drbd") {
			return bad(kind, "Listed", "a device of DRBD is on LVM's list of devices: run `lvmdevices --deldev` for it: "+strings.TrimSpace(entry))
		}
	}
	return good(kind)
}

// multipathCondition: multipathd would claim DRBD's devices.
func multipathCondition(root string) decide.Condition {
	const kind = "MultipathIgnoresDRBD"
	if !has(root, "usr/sbin/multipathd") && !has(root, "sbin/multipathd") {
		return good(kind)
	}
	files, _ := filepath.Glob(filepath.Join(root, "etc/multipath/conf.d/*.conf")) // the pattern is well-formed
	ignored := false
	for _, file := range append([]string{filepath.Join(root, "etc/multipath.conf")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // nothing is said there
		}
		if devnodes(text, "blacklist_exceptions") {
			return bad(kind, "Excepted", strings.TrimPrefix(file, root)+" excepts drbd devices from the blacklist of multipathd: take that out")
		}
		ignored = ignored || devnodes(text, "blacklist")
	}
	if !ignored {
		return bad(kind, "NotBlacklisted", "multipathd is installed and may claim /dev/drbd*: write `blacklist { devnode \"^drbd[0-9]+\" }` into /etc/multipath/conf.d/drbd.conf, "+
			"and run `multipathd reconfigure`")
	}
	return good(kind)
}

func has(root, file string) bool {
	_, err := os.Stat(filepath.Join(root, file))
	return err == nil
}

var (
	commentRE = regexp.MustCompile(`(?m)^\s*[#!].*$`)
	devnodeRE = regexp.MustCompile(`devnode\s+"?(!?)([^"\s}]+)"?`)
)

// devnodes says whether a section of multipath's configuration names DRBD's devices.
func devnodes(text []byte, section string) bool {
	sectionRE := regexp.MustCompile(`(?s)\b` + section + `\s*\{(.*?)\}`)
	for _, body := range sectionRE.FindAllSubmatch(commentRE.ReplaceAll(text, nil), -1) {
		for _, m := range devnodeRE.FindAllSubmatch(body[1], -1) {
			re, err := regexp.Compile(string(m[2]))
			if not := len(m[1]) > 0; err == nil && re.MatchString("drbd10000") != not {
				return true
			}
		}
	}
	return false
}

// poolsCondition: writes that wait for room freeze whoever writes.
func poolsCondition(l observe.LVMView) decide.Condition {
	const kind = "ThinPoolsRefuseWhenFull"
	for _, vg := range l.VGs {
		for _, pool := range vg.ThinPools {
			if !pool.ErrorWhenFull {
				return bad(kind, "Queues", fmt.Sprintf("thin pool %s/%s lets writes wait when it is full: run `lvchange --errorwhenfull y %s/%s`",
					vg.Name, pool.Name, vg.Name, pool.Name))
			}
		}
	}
	return good(kind)
}
