package selector_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model/selector"
)

func TestSelectorsSelect(t *testing.T) {
	labels := map[string]string{"zone": "a", "tier": "fast", "empty": "", "example.org/rack": "r-1"}
	for _, tc := range []struct {
		selector string
		want     bool
	}{
		{"", true},
		{"   ", true},
		{"zone=a", true},
		{"zone==a", true},
		{"zone = a", true},
		{"zone=b", false},
		{"absent=", false},
		{"empty=", true},
		{"zone!=b", true},
		{"zone!=a", false},
		{"absent!=a", true},
		{"zone in (a,b)", true},
		{"zone in ( b , a )", true},
		{"zone in(b,c)", false},
		{"absent in (a)", false},
		{"zone notin (b,c)", true},
		{"zone notin (a)", false},
		{"absent notin (a)", true},
		{"zone", true},
		{"absent", false},
		{"!absent", true},
		{"! absent", true},
		{"!zone", false},
		{"zone=a,tier in (fast,slow),!old,example.org/rack", true},
		{"zone=a,tier notin (fast)", false},
		{"empty in (,x)", true},
	} {
		t.Run(tc.selector, func(t *testing.T) {
			s, err := selector.Parse(tc.selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Matches(labels); got != tc.want {
				t.Errorf("matches: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSelectorsThatCannotBeReadSayWhy(t *testing.T) {
	for text, want := range map[string]string{
		",":                     "a part between commas is empty",
		"a=b,":                  "a part between commas is empty",
		"a in b":                `label key "a in b"`,
		"a in (b":               "does not end with a parenthesis",
		"a near (b)":            "write in or notin before a list, not \"near\"",
		"(b)":                   "write KEY in (VALUE,...)",
		"=b":                    `label key ""`,
		"!":                     `label key ""`,
		"-a=b":                  `label key "-a"`,
		"a=b c":                 `value "b c"`,
		"a=b=c":                 `value "b=c"`,
		"a=-":                   `value "-"`,
		"a in (b))":             `value "b)"`,
		"Ärger":                 "label key",
		strings.Repeat("k", 64): "label key",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := selector.Parse(text)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want something of %q", err, want)
			}
		})
	}
}

func TestSelectorsMadeByHandAreChecked(t *testing.T) {
	for name, r := range map[string]selector.Requirement{
		"In without a value":   {Key: "a", Operator: selector.In},
		"Exists with a value":  {Key: "a", Operator: selector.Exists, Values: []string{"b"}},
		"an unknown operator":  {Key: "a", Operator: "Gt", Values: []string{"1"}},
		"an unfit label value": {Key: "a", Operator: selector.NotIn, Values: []string{"b c"}},
	} {
		if err := (selector.Selector{r}).Validate(); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if name == "an unknown operator" && r.Matches(map[string]string{"a": "1"}) {
			t.Errorf("%s selects", name)
		}
	}
	if err := selector.MatchLabels(map[string]string{"b": "1", "a": ""}).Validate(); err != nil {
		t.Error(err)
	}
	if got := selector.MatchLabels(map[string]string{"b": "1", "a": ""}).String(); got != "a=,b=1" {
		t.Errorf("match labels read %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"zone=a,tier!=slow,rack in (r1,r2),disk notin (hdd),ssd,!old", "a==b", "a in (,)", "!a,b=", "((", "x/y=z"} {
		f.Add(s, "a", "b")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		s, err := selector.Parse(text)
		if err != nil {
			return
		}
		again, err := selector.Parse(s.String())
		if err != nil {
			t.Fatalf("%q is written %q: %v", text, s, err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("%q is written %q (-read +again)\n%s", text, s, diff)
		}
		labels := map[string]string{key: value}
		if s.Matches(labels) != again.Matches(labels) {
			t.Errorf("%q and %q differ on %v", text, s, slices.Collect(maps.Keys(labels)))
		}
	})
}
