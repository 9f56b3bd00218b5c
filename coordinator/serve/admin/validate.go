package admin

import (
	"crypto/rand"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/model"
	"rvol/coordinator/model/selector"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
)

// newMeta is what every new object begins with.
func newMeta(name string, labels map[string]string, now time.Time) model.Meta {
	return model.Meta{Name: name, UID: strings.ToLower(rand.Text()), Generation: 1, CreatedAt: now, Labels: labels}
}

// relabel applies a change of labels to a copy.
func relabel(labels map[string]string, c *adminv1.LabelChange) (map[string]string, error) {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, c.GetSet())
	for _, k := range c.GetRemove() {
		delete(out, k)
	}
	return out, model.CheckLabels(out)
}

// confirmed refuses a call that destroys unless the name was given once more.
func confirmed(about model.Key, typed string) error {
	if typed == about.Name {
		return nil
	}
	return door.Refuse(model.ErrInvalid, about, "the name must be given once more to confirm", "give "+about.Name+" as the confirmation")
}

// oneOf reads a word from a short list; nothing at all is the first.
func oneOf(about model.Key, what, word string, words ...string) (string, error) {
	if word == "" {
		return words[0], nil
	}
	if slices.Contains(words, word) {
		return word, nil
	}
	return "", door.Invalid(about, "%s %q: want %s", what, word, strings.Join(words, ", "))
}

// atLeast reads a duration that may not be negative; nothing at all is the default.
func atLeast(about model.Key, what string, d *durationpb.Duration, whenNone time.Duration) (time.Duration, error) {
	if d == nil {
		return whenNone, nil
	}
	if err := d.CheckValid(); err != nil || d.AsDuration() < 0 {
		return 0, door.Invalid(about, "%s: want a duration that is not negative", what)
	}
	return d.AsDuration(), nil
}

// within reads a number from a range.
func within(about model.Key, what string, n, least, most int32) (int, error) {
	if n < least || n > most {
		return 0, door.Invalid(about, "%s %d: want %d to %d", what, n, least, most)
	}
	return int(n), nil
}

// checkZones refuses zones that no node can have.
func checkZones(about model.Key, zones []string) error {
	for i, z := range zones {
		if err := model.CheckName("zone", z, model.MaxName); err != nil {
			return door.Invalid(about, "%s", bare(err))
		}
		if slices.Contains(zones[:i], z) {
			return door.Invalid(about, "zone %s is named twice", z)
		}
	}
	return nil
}

// networks reads the names of system networks; none at all means the usual one.
func networks(about model.Key, names []string) ([]string, error) {
	for i, n := range names {
		if err := model.CheckName("network", n, model.MaxName); err != nil {
			return nil, door.Invalid(about, "%s", bare(err))
		}
		if slices.Contains(names[:i], n) {
			return nil, door.Invalid(about, "network %s is named twice", n)
		}
	}
	if len(names) == 0 {
		return []string{model.DefaultNetwork}, nil
	}
	return names, nil
}

func checkSelector(about model.Key, what, text string) error {
	if _, err := selector.Parse(text); err != nil {
		return door.Invalid(about, "%s: %s", what, err)
	}
	return nil
}

// bare is the text of an error without the word for its kind in front.
func bare(err error) string { return strings.TrimPrefix(err.Error(), model.ErrInvalid.Error()+": ") }

// tuning is the closed list of DRBD options that classes and volumes may set, by their
// DRBD names and in DRBD's units.
var tuning = map[string]*regexp.Regexp{
	"timeout":      regexp.MustCompile(`^[0-9]{1,5}$`),
	"ping-timeout": regexp.MustCompile(`^[0-9]{1,5}$`),
	"ping-int":     regexp.MustCompile(`^[0-9]{1,5}$`),
	"connect-int":  regexp.MustCompile(`^[0-9]{1,5}$`),
	"resync-rate":  regexp.MustCompile(`^[0-9]{1,9}[KMG]?$`),
	"c-max-rate":   regexp.MustCompile(`^[0-9]{1,9}[KMG]?$`),
	"c-min-rate":   regexp.MustCompile(`^[0-9]{1,9}[KMG]?$`),
	"c-plan-ahead": regexp.MustCompile(`^0$`),
}

func checkTuning(about model.Key, options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value, known := tuning[name]
		if !known {
			return door.Invalid(about, "DRBD option %q may not be set: want one of %s", name, strings.Join(slices.Sorted(maps.Keys(tuning)), ", "))
		}
		if !value.MatchString(options[name]) {
			return door.Invalid(about, "DRBD option %s %q: want %s", name, options[name], value)
		}
	}
	return nil
}

// maxProperty bounds what tools may have kept verbatim, in bytes.
const maxProperty = 64 << 10

func checkProperties(about model.Key, properties map[string]string) error {
	size := 0
	for k, v := range properties {
		if k == "" || len(k) > model.MaxName {
			return door.Invalid(about, "property key %q: want 1 to %d characters", k, model.MaxName)
		}
		size += len(k) + len(v)
	}
	if size > maxProperty {
		return door.Invalid(about, "its properties have %d bytes, at most %d are kept", size, maxProperty)
	}
	return nil
}

// invalid says of an error in what was asked which object it is about.
func invalid(about model.Key, err error) error {
	if err == nil {
		return nil
	}
	return door.Invalid(about, "%s", bare(err))
}

// size renders bytes for people.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	f, i := float64(n), 0
	for i < len(units)-1 && f >= 1024 {
		f, i = f/1024, i+1
	}
	if i == 0 || f == float64(int64(f)) {
		return fmt.Sprintf("%d %s", int64(f), units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
