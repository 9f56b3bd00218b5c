package lvm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	v, err := New(readRecording(t, "version").run).Version(t.Context())
	if err != nil || v != "2.03.16" {
		t.Errorf("got %q, %v", v, err)
	}
	for _, out := range []string{"", "  LVM version:     unknown\n", "  Library version: 1.02.185 (2022-05-18)\n"} {
		if v, err := New(recording{stdout: out}.run).Version(t.Context()); !errors.Is(err, ErrGarbage) {
			t.Errorf("%q gave %q, %v", out, v, err)
		}
	}
}

func TestSettings(t *testing.T) {
	for name, want := range map[string]Settings{
		"lvmconfig": {GlobalFilter: []string{"a|.*|"}, Filter: []string{"a|.*|"}},
		"lvmconfig-set": {
			GlobalFilter: []string{"r|^/dev/drbd|", "r|^/dev/rvol/|"}, Filter: []string{"a(^/dev/sd)"},
			DevicesFile: "system.devices", ScanLVs: true,
		},
	} {
		r := readRecording(t, name)
		got, err := New(r.run).Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		for _, cut := range []string{"", r.stdout[:60], strings.Replace(r.stdout, `global_filter=["`, `global_filter=[x"`, 1)} {
			if got, err := New(recording{stdout: cut}.run).Settings(t.Context()); !errors.Is(err, ErrGarbage) {
				t.Errorf("%q gave %+v, %v", cut, got, err)
			}
		}
	}
}

func TestAFilterHidesADevice(t *testing.T) {
	drbd := []string{"/dev/drbd10000", "/dev/drbd/by-res/rvol-db-1/0"}
	for _, tc := range []struct {
		name    string
		global  []string
		own     []string
		hides   bool
		refused string
	}{
		{name: "nothing is said", global: nil, hides: false},
		{name: "everything is accepted", global: []string{"a|.*|"}, own: []string{"a|.*|"}, hides: false},
		{name: "it is rejected by all of its names", global: []string{"r|^/dev/drbd|"}, hides: true},
		{name: "by one of its names", global: []string{"r|^/dev/drbd[0-9]|"}, hides: true},
		{name: "by the filter that is not global", global: []string{"a|.*|"}, own: []string{"r(drbd)"}, hides: true},
		{name: "accepted before it is rejected", global: []string{"a|/dev/|", "r|drbd|"}, hides: false},
		{name: "one of its names is accepted", global: []string{"a|by-res|", "r|.*|"}, hides: false},
		{name: "all but another is rejected", global: []string{"a|^/dev/sda$|", "r|.*|"}, hides: true},
		{name: "brackets", global: []string{"r[^/dev/drbd]"}, hides: true},
		{name: "no end", global: []string{"r|drbd"}, refused: "its end is missing"},
		{name: "no kind", global: []string{"x|drbd|"}, refused: "want a|REGEXP|"},
		{name: "no expression", global: []string{"r|(|"}, refused: "missing closing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hides, err := Settings{GlobalFilter: tc.global, Filter: tc.own}.Hides(drbd...)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("got %v, want %q", err, tc.refused)
				}
				return
			}
			if err != nil || hides != tc.hides {
				t.Errorf("got %v, %v, want %v", hides, err, tc.hides)
			}
		})
	}
}

func FuzzSettings(f *testing.F) {
	f.Add(readRecording(f, "lvmconfig").stdout)
	f.Add(readRecording(f, "lvmconfig-set").stdout)
	f.Fuzz(func(t *testing.T, out string) {
		s, err := parseSettings([]byte(out))
		if err != nil {
			return
		}
		if hides, err := s.Hides(); hides && err == nil {
			t.Errorf("a device without a name is hidden by %+v", s)
		}
	})
}
