package lvm

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// What LVM can refuse. Every error of a verb is an *Error around one of these,
// around what the Runner said, or around both.
var (
	ErrBadArgument = errors.New("bad argument")
	ErrExists      = errors.New("already exists")
	ErrGarbage     = errors.New("output cannot be understood")
	ErrInUse       = errors.New("in use")
	ErrNoSpace     = errors.New("not enough free space")
	ErrNotFound    = errors.New("not found")
	ErrNotLarger   = errors.New("already larger")
	ErrPartial     = errors.New("physical volumes are missing")
	ErrPoolFull    = errors.New("thin pool is full")
	ErrSameSize    = errors.New("already that size")
	ErrSignature   = errors.New("device holds a signature")
	ErrToolMissing = errors.New("tool is not installed")
	ErrUnsupported = errors.New("not supported by the device")
	ErrUnusable    = errors.New("device cannot be used")
)

// An Error is a command that did not do what it was asked.
type Error struct {
	Verb     string // "lvcreate"
	Object   string // "vg0/rvol-db-1.0.0"
	Reason   error  // one of the sentinels; nil when the refusal has no name here
	ExitCode int    // 0 when the tool did not end by itself
	Stderr   string // what it said, without LVM's warnings
	Needed   int64  // extents, with ErrNoSpace
	Free     int64  // extents, with ErrNoSpace
	Err      error  // what the Runner returned
}

// Error says verb, object, reason, and the tool's own words.
func (e *Error) Error() string {
	s := e.Verb
	if e.Object != "" {
		s += " " + e.Object
	}
	switch {
	case e.Reason != nil && e.Needed > 0:
		s += fmt.Sprintf(": %v: %d extents needed, %d free", e.Reason, e.Needed, e.Free)
	case e.Reason != nil:
		s += ": " + e.Reason.Error()
	}
	if e.Stderr != "" {
		return s + ": " + e.Stderr
	}
	if e.Err != nil {
		return s + ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the reason and the Runner's error.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Reason != nil {
		errs = append(errs, e.Reason)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// exitError is what we need to know of a tool's refusal.
type exitError interface {
	error
	ExitCode() int
	Stderr() []byte
}

func newError(verb, object string, err error) *Error {
	e := &Error{Verb: verb, Object: object, Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		e.Reason = ErrToolMissing
		return e
	}
	exit, ok := errors.AsType[exitError](err)
	if !ok {
		return e
	}
	e.ExitCode = exit.ExitCode()
	text := string(exit.Stderr())
	e.Stderr = withoutWarnings(text)
	e.classify(text)
	return e
}

// exitBadCommand is EINVALID_CMD_LINE of tools/errors.h. Everything else that
// goes wrong is exit code 5, ECMD_FAILED: the reason is in the text alone.
const exitBadCommand = 3

// refusals are tried in order: a mounted device also "has a signature". Each
// cites the source of LVM 2.03.16 that prints it.
var refusals = []struct {
	re     *regexp.Regexp
	reason error
}{
	{regexp.MustCompile(`insufficient free space \((?P<free>\d+) extents\): (?P<needed>\d+) required`), ErrNoSpace},           // lib/metadata/lv_manip.c
	{regexp.MustCompile(`Insufficient free space: (?P<needed>\d+) extents needed, but only (?P<free>\d+) avail`), ErrNoSpace}, // lib/metadata/lv_manip.c
	{regexp.MustCompile(`Calculated size of logical volume is 0 extents`), ErrNoSpace},                                        // tools/lvcreate.c, of 100%FREE
	{regexp.MustCompile(`free space in thin pool \S+ reached threshold`), ErrPoolFull},                                        // lib/metadata/lv_manip.c
	{regexp.MustCompile(`while PVs are missing`), ErrPartial},                                                                 // lib/metadata/metadata.c
	{regexp.MustCompile(`Refusing activation of partial LV`), ErrPartial},                                                     // lib/activate/activate.c
	{regexp.MustCompile(`matches existing size|No size change\.`), ErrSameSize},                                               // lib/metadata/lv_manip.c
	{regexp.MustCompile(`not larger than existing size`), ErrNotLarger},                                                       // lib/metadata/lv_manip.c
	{regexp.MustCompile(`already exists in [Vv]olume group`), ErrExists},                                                      // tools/lvcreate.c, tools/toollib.c
	{regexp.MustCompile(`A volume group called \S+ already exists`), ErrExists},                                               // tools/vgcreate.c
	{regexp.MustCompile(`already exists in filesystem`), ErrExists},                                                           // lib/metadata/metadata.c
	{regexp.MustCompile(`contains a filesystem in use\.|Logical volume \S+ in use\.`), ErrInUse},                              // lib/activate/activate.c
	{regexp.MustCompile(`Can't open \S+ exclusively`), ErrInUse},                                                              // lib/label/label.c
	{regexp.MustCompile(`Physical volume '\S+' is already in volume group`), ErrInUse},                                        // lib/metadata/metadata.c
	{regexp.MustCompile(`: Operation not supported`), ErrUnsupported},                                                         // EOPNOTSUPP in blkdiscard
	{regexp.MustCompile(`: Device or resource busy`), ErrInUse},                                                               // EBUSY in wipefs and blkdiscard
	{regexp.MustCompile(`signature detected on|device has a signature|existing signatures? left`), ErrSignature},              // lib/device/dev-type.c, lib/cache/lvmcache.c
	{regexp.MustCompile(`Cannot use \S+: `), ErrUnusable},                                                                     // tools/toollib.c: rejected by a filter, partitioned, too small
	{regexp.MustCompile(`Volume group "\S+" not found|Failed to find logical volume`), ErrNotFound},                           // lib/metadata/metadata.c, tools/toollib.c
	{regexp.MustCompile(`Logical volume \S+ not found in volume group|Pool \S+ not found in Volume group`), ErrNotFound},      // tools/lvresize.c, tools/lvcreate.c
	{regexp.MustCompile(`No device found for|: No such file or directory`), ErrNotFound},                                      // tools/toollib.c; ENOENT in wipefs and blkdiscard
	{regexp.MustCompile(`Volume too large|is not a thin pool`), ErrBadArgument},                                               // lib/metadata/metadata.c, lib/metadata/lv_manip.c
}

func (e *Error) classify(text string) {
	for _, r := range refusals {
		m := r.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		e.Reason = r.reason
		if i := r.re.SubexpIndex("needed"); i > 0 {
			e.Needed, _ = strconv.ParseInt(m[i], 10, 64) // digits, by the expression
			e.Free, _ = strconv.ParseInt(m[r.re.SubexpIndex("free")], 10, 64)
		}
		return
	}
	if e.ExitCode == exitBadCommand {
		e.Reason = ErrBadArgument
	}
}

// withoutWarnings keeps what LVM said of the refusal, on one line.
func withoutWarnings(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && (!strings.HasPrefix(line, "WARNING: ") || strings.Contains(line, "[y/n]")) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
