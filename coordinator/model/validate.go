package model

import (
	"fmt"
	"regexp"
)

var (
	label    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	lvmName  = regexp.MustCompile(`^[a-zA-Z0-9_.+][a-zA-Z0-9_.+-]*$`) // lvm(8), VALID NAMES
	labelKey = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9_./]*[a-zA-Z0-9])?$`)
	labelVal = regexp.MustCompile(`^([a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?)?$`)
)

// CheckName refuses what is not a DNS label of at most limit characters. what names
// the thing for the message: "volume".
func CheckName(what, name string, limit int) error {
	if name == "" {
		return fmt.Errorf("%w: %s name is empty", ErrInvalid, what)
	}
	if len(name) > limit || !label.MatchString(name) {
		return fmt.Errorf("%w: %s name %q: want 1 to %d of a-z, 0-9 and '-', not at the ends", ErrInvalid, what, name, limit)
	}
	return nil
}

// MaxName is the longest name of any object but a volume.
const MaxName = 63

// CheckLVMName refuses what LVM would not take as the name of a group or pool.
func CheckLVMName(what, name string) error {
	if name == "" || len(name) > 127 || name == "." || name == ".." || !lvmName.MatchString(name) {
		return fmt.Errorf("%w: %s name %q: LVM allows a-z A-Z 0-9 + _ . - and no '-' in front", ErrInvalid, what, name)
	}
	return nil
}

// CheckLabels refuses labels that selectors could not speak of.
func CheckLabels(labels map[string]string) error {
	for k, v := range labels {
		if len(k) > 63 || !labelKey.MatchString(k) {
			return fmt.Errorf("%w: label key %q: want 1 to 63 of a-z A-Z 0-9 - _ . /, letters or digits at the ends", ErrInvalid, k)
		}
		if len(v) > 63 || !labelVal.MatchString(v) {
			return fmt.Errorf("%w: label %s has value %q: want at most 63 of a-z A-Z 0-9 - _ ., letters or digits at the ends", ErrInvalid, k, v)
		}
	}
	return nil
}

// CheckSize refuses device sizes that rvol cannot make, and returns size rounded up to SizeStep.
func CheckSize(size int64) (int64, error) {
	switch {
	case size <= 0:
		return 0, fmt.Errorf("%w: size %d: want more than 0 bytes", ErrInvalid, size)
	case size > MaxSize:
		return 0, fmt.Errorf("%w: size %d bytes: more than 1 PiB", ErrInvalid, size)
	}
	return (size + SizeStep - 1) / SizeStep * SizeStep, nil
}
