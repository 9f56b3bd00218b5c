package selector

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Parse reads a selector as people write it: `zone=a,tier!=slow,rack in (r1,r2),disk notin (hdd),ssd,!old`.
// All parts must hold. Nothing at all selects everything.
func Parse(text string) (Selector, error) {
	var s Selector
	for _, part := range splitOutsideParentheses(text) {
		r, err := parseRequirement(part)
		if err != nil {
			return nil, fmt.Errorf("read selector %q: %w", text, err)
		}
		s = append(s, r)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("read selector %q: %w", text, err)
	}
	return s, nil
}

func splitOutsideParentheses(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

func parseRequirement(part string) (Requirement, error) {
	part = strings.TrimSpace(part)
	if part == "" {
		return Requirement{}, errors.New("a part between commas is empty")
	}
	if key, list, ok := strings.Cut(part, "("); ok {
		return parseList(part, key, list)
	}
	for _, sign := range []struct {
		text     string
		operator Operator
	}{{"!=", NotIn}, {"==", In}, {"=", In}} {
		if key, value, ok := strings.Cut(part, sign.text); ok {
			return Requirement{
				Key: strings.TrimSpace(key), Operator: sign.operator, Values: []string{strings.TrimSpace(value)},
			}, nil
		}
	}
	if key, ok := strings.CutPrefix(part, "!"); ok {
		return Requirement{Key: strings.TrimSpace(key), Operator: DoesNotExist}, nil
	}
	return Requirement{Key: part, Operator: Exists}, nil
}

func parseList(part, head, list string) (Requirement, error) {
	list, ok := strings.CutSuffix(list, ")")
	if !ok {
		return Requirement{}, fmt.Errorf("%q: the list of values does not end with a parenthesis", part)
	}
	words := strings.Fields(head)
	if len(words) != 2 {
		return Requirement{}, fmt.Errorf("%q: write KEY in (VALUE,...) or KEY notin (VALUE,...)", part)
	}
	r := Requirement{Key: words[0]}
	switch words[1] {
	case "in":
		r.Operator = In
	case "notin":
		r.Operator = NotIn
	default:
		return Requirement{}, fmt.Errorf("%q: write in or notin before a list, not %q", part, words[1])
	}
	for value := range strings.SplitSeq(list, ",") {
		r.Values = append(r.Values, strings.TrimSpace(value))
	}
	return r, nil
}

// How long the parts of a label may be.
const (
	maxPrefix = 253
	maxLabel  = 63
)

var label = regexp.MustCompile(`^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$`)

func validKey(key string) error {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	goodPrefix := !prefixed || len(prefix) <= maxPrefix && label.MatchString(prefix)
	if !goodPrefix || len(name) > maxLabel || !label.MatchString(name) {
		return fmt.Errorf("label key %q: use letters, digits, '-', '_' and '.', at most %d, with a letter or digit at both ends",
			key, maxLabel)
	}
	return nil
}

func validValue(key, value string) error {
	if value != "" && (len(value) > maxLabel || !label.MatchString(value)) {
		return fmt.Errorf("label %q: value %q: use letters, digits, '-', '_' and '.', at most %d, with a letter or digit at both ends",
			key, value, maxLabel)
	}
	return nil
}
