package lvm

import (
	"fmt"
	"regexp"
	"strconv"
)

// volumeRE is a DNS label of at most 48 characters: room for the prefix, the
// device and the id within what LVM and device-mapper allow.
var volumeRE = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$`)

var lvNameRE = regexp.MustCompile(`^rvol-(.+)\.(0|[1-9][0-9]{0,4})\.(0|[1-9][0-9]?)$`)

// A Name says which device of which replica a logical volume holds.
type Name struct {
	Volume  string // at most 48 characters
	Device  int    // device number within the volume, 0..65535
	Replica int    // replica id, 0..31
}

// String is the name of the logical volume: rvol-<volume>.<device>.<id>.
func (n Name) String() string {
	return fmt.Sprintf("rvol-%s.%d.%d", n.Volume, n.Device, n.Replica)
}

// Validate tells what is wrong with n, if anything.
func (n Name) Validate() error {
	if err := verify(check{"volume name", n.Volume, volumeRE}); err != nil {
		return err
	}
	if n.Device < 0 || n.Device > 65535 || n.Replica < 0 || n.Replica > 31 {
		return fmt.Errorf("%w: device %d, replica %d of volume %s", ErrBadArgument, n.Device, n.Replica, n.Volume)
	}
	return nil
}

// ParseName reads the name of a logical volume; false means it is not one of ours.
func ParseName(lv string) (Name, bool) {
	m := lvNameRE.FindStringSubmatch(lv)
	if m == nil {
		return Name{}, false
	}
	device, _ := strconv.Atoi(m[2])  // lvNameRE admits only digits
	replica, _ := strconv.Atoi(m[3]) // likewise
	n := Name{Volume: m[1], Device: device, Replica: replica}
	return n, n.Validate() == nil
}

// Path is where the device node of an active logical volume is.
func Path(vg, lv string) string { return "/dev/" + vg + "/" + lv }
