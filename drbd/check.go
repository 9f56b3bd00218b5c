package drbd

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrInvalid is text that must not reach a command line or a .res file.
var ErrInvalid = errors.New("invalid")

// Names are stricter than DRBD asks: a letter or digit first, so that none
// looks like an option, and nothing that a shell or a .res file could read
// as more than a word.
var (
	nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$`)
	pathRE = regexp.MustCompile(`^/[A-Za-z0-9/._+:@-]{1,1000}$`)
)

func checkName(resource string) error {
	if !nameRE.MatchString(resource) {
		return invalid("resource", resource, "want letters, digits, '.', '_', '-', at most 127, the first a letter or digit")
	}
	if resource == "all" { // drbdadm and drbdsetup read it as every resource
		return invalid("resource", resource, "reserved word")
	}
	return nil
}

func checkPath(what, path string) error {
	if !pathRE.MatchString(path) || strings.Contains(path, "/../") {
		return invalid(what, path, "want an absolute path of letters, digits and '/._+:@-'")
	}
	return nil
}

func invalid(what, value, why string) error {
	return fmt.Errorf("%s %q: %w: %s", what, value, ErrInvalid, why)
}

func unsupported(what string) error {
	return fmt.Errorf("%s: %w by DRBD 8.4", what, errors.ErrUnsupported)
}
