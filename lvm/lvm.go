package lvm

import (
	"context"
	"fmt"
	"regexp"
)

// A Runner runs one tool to its end and returns its standard output, also
// beside an error. A tool that refuses is an error with ExitCode and Stderr;
// a tool that is not installed is an error that is fs.ErrNotExist.
type Runner func(ctx context.Context, argv ...string) ([]byte, error)

// A Tool runs LVM commands, one method per verb.
type Tool struct{ run Runner }

// New returns a Tool whose commands are run by run.
func New(run Runner) *Tool { return &Tool{run: run} }

// SectorSize is what every size given to LVM must be a multiple of, in bytes.
const SectorSize = 512

// exec runs a command whose output nobody reads: LVM mixes warnings into it.
func (t *Tool) exec(ctx context.Context, object string, argv ...string) error {
	if _, err := t.run(ctx, argv...); err != nil {
		return newError(argv[0], object, err)
	}
	return nil
}

var (
	// lib/misc/lvm-string.c validate_name: [a-zA-Z0-9+_.-], no leading hyphen,
	// neither "." nor ".."; we also refuse names with a leading dot.
	nameRE = regexp.MustCompile(`^[a-zA-Z0-9+_][a-zA-Z0-9+_.-]{0,126}$`)
	// lib/misc/lvm-string.c validate_tag allows [A-Za-z0-9_+.-/=!:&#]; the
	// characters that mean something in a selection stay out.
	tagRE  = regexp.MustCompile(`^[A-Za-z0-9_+.][A-Za-z0-9_+./=:-]{0,254}$`)
	uuidRE = regexp.MustCompile(`^[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}$`)
	// No part of a device's path may begin with a dot: that leads elsewhere.
	deviceRE = regexp.MustCompile(`^/dev(/[a-zA-Z0-9+_:-][a-zA-Z0-9+_.:-]*)+$`)
)

// A check is one thing that must hold before a command is built.
type check struct {
	what, value string
	re          *regexp.Regexp
}

func verify(checks ...check) error {
	for _, c := range checks {
		if !c.re.MatchString(c.value) {
			return fmt.Errorf("%w: %s %q", ErrBadArgument, c.what, c.value)
		}
	}
	return nil
}

func verifyLV(vg, lv string) error {
	return verify(check{"volume group name", vg, nameRE}, check{"logical volume name", lv, nameRE})
}

func verifyTags(tags []string) error {
	for _, tag := range tags {
		if err := verify(check{"tag", tag, tagRE}); err != nil {
			return err
		}
	}
	return nil
}

// bytes renders a size as an argument of --size.
func bytes(size int64) (string, error) {
	if size <= 0 || size%SectorSize != 0 {
		return "", fmt.Errorf("%w: size %d is not a positive multiple of %d", ErrBadArgument, size, SectorSize)
	}
	return fmt.Sprintf("%db", size), nil
}

func addTags(argv, tags []string) []string {
	for _, tag := range tags {
		argv = append(argv, "--addtag", tag)
	}
	return argv
}
