package lvm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// versionRE finds the version of the tools: tools/lvmcmdline.c version prints
// "  LVM version:     2.03.16(2) (2022-05-18)".
var versionRE = regexp.MustCompile(`(?m)^ *LVM version: +([0-9][0-9.]*)`)

// Version runs `lvm version` and returns the version of the tools: "2.03.16".
func (t *Tool) Version(ctx context.Context) (string, error) {
	out, err := t.run(ctx, "lvm", "version")
	if err != nil {
		return "", newError("version", "", err)
	}
	m := versionRE.FindSubmatch(out)
	if m == nil {
		return "", garbage("version", "", fmt.Errorf("no version in %q", out))
	}
	return string(m[1]), nil
}

// Settings are LVM's own about which devices it looks for volume groups on.
type Settings struct {
	GlobalFilter []string // "a|REGEXP|" accepts, "r|REGEXP|" rejects; the first that fits counts
	Filter       []string // the same; a device must pass both
	DevicesFile  string   // name of the list of devices, below /etc/lvm/devices; "": none is used
	ScanLVs      bool     // logical volumes are devices to look on
}

// Settings runs `lvm lvmconfig --typeconfig full devices`: what is configured,
// and the defaults of what is not.
func (t *Tool) Settings(ctx context.Context) (Settings, error) {
	out, err := t.run(ctx, "lvm", "lvmconfig", "--typeconfig", "full", "devices")
	if err != nil {
		return Settings{}, newError("lvmconfig", "", err)
	}
	s, err := parseSettings(out)
	if err != nil {
		return Settings{}, garbage("lvmconfig", "", err)
	}
	return s, nil
}

// parseSettings reads a section of lines such as filter=["a|.*|"] and scan_lvs=0.
func parseSettings(out []byte) (Settings, error) {
	var s Settings
	var file string
	uses, seen := false, false
	for line := range strings.Lines(string(out)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if !found {
			continue
		}
		var err error
		switch name {
		case "global_filter":
			seen = true
			s.GlobalFilter, err = texts(value)
		case "filter":
			s.Filter, err = texts(value)
		case "devicesfile":
			file, err = strconv.Unquote(value)
		case "use_devicesfile":
			uses = value == "1"
		case "scan_lvs":
			s.ScanLVs = value == "1"
		}
		if err != nil {
			return Settings{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if !seen {
		return Settings{}, fmt.Errorf("no global_filter in %q", out)
	}
	if uses {
		s.DevicesFile = file
	}
	return s, nil
}

// texts reads ["a","b"], or "a" alone.
func texts(value string) ([]string, error) {
	value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	var list []string
	for rest := strings.TrimSpace(value); rest != ""; {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", value, err)
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", value, err)
		}
		list = append(list, text)
		rest = strings.TrimLeft(rest[len(quoted):], ", ")
	}
	return list, nil
}

// Hides reports whether the filters keep LVM from a device of these names.
func (s Settings) Hides(names ...string) (bool, error) {
	for _, filter := range [][]string{s.GlobalFilter, s.Filter} {
		hides, err := rejects(filter, names)
		if hides || err != nil {
			return hides, err
		}
	}
	return false, nil
}

// rejects is lib/filters/filter-regex.c _accept_p: a name that is accepted makes
// the device so, else one that is rejected; what nothing fits is accepted.
func rejects(filter, names []string) (bool, error) {
	rejected := false
	for _, name := range names {
		for _, text := range filter {
			accept, re, err := pattern(text)
			if err != nil {
				return false, err
			}
			if !re.MatchString(name) {
				continue
			}
			if accept {
				return false, nil
			}
			rejected = true
			break
		}
	}
	return rejected, nil
}

// pattern reads a|REGEXP| or r|REGEXP|; any character may stand for the bars,
// and brackets come in pairs.
func pattern(text string) (accept bool, re *regexp.Regexp, err error) {
	if len(text) < 3 || !slices.Contains([]byte("ar"), text[0]) {
		return false, nil, fmt.Errorf("read the filter %q: want a|REGEXP| or r|REGEXP|", text)
	}
	end := text[1:2]
	if i := strings.Index("([{", end); i >= 0 {
		end = ")]}"[i : i+1]
	}
	inner, whole := strings.CutSuffix(text[2:], end)
	if !whole {
		return false, nil, fmt.Errorf("read the filter %q: its end is missing", text)
	}
	re, err = regexp.Compile(inner)
	if err != nil {
		return false, nil, fmt.Errorf("read the filter %q: %w", text, err)
	}
	return text[0] == 'a', re, nil
}
