package cases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/eligibility/cases"
	"rvol/coordinator/decide/internal/jsonl"
)

type expected struct {
	Name   string `json:"name"`
	Expect struct {
		Valid bool `json:"valid"`
	} `json:"expect"`
}

type answer struct {
	Name    string `json:"name"`
	Valid   bool   `json:"valid"`
	Message string `json:"message"`
}

func TestEveryRecordedCaseIsAnsweredAsExpected(t *testing.T) {
	samples, err := os.ReadFile("testdata/validation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cases.Cases(bytes.NewReader(samples), &out); err != nil {
		t.Fatal(err)
	}
	answers := lines[answer](t, out.Bytes())
	want := lines[expected](t, samples)
	if len(answers) != len(want) {
		t.Fatalf("%d answers to %d cases", len(answers), len(want))
	}
	for i, w := range want {
		if answers[i].Name != w.Name || answers[i].Valid != w.Expect.Valid {
			t.Errorf("%s: valid %v, want %v: %s", w.Name, answers[i].Valid, w.Expect.Valid, answers[i].Message)
		}
		if answers[i].Message == "" {
			t.Errorf("%s: no message", w.Name)
		}
	}
}

func TestMessagesNameWhatIsMissingInNumbers(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{
			"no nodes at all", `{"name":"x","input":{"topology":"Ignored","ftt":1,"gmdr":0}}`,
			"FTT=1, GMDR=0 (2D+1TB): no nodes available in the storage pool, requires 3 nodes, 2 of them with disks",
		},
		{
			"one node and one disk short",
			`{"name":"x","input":{"topology":"Ignored","ftt":1,"gmdr":1,"nodes":[{"name":"a","disks":1},{"name":"b"}]}}`,
			"FTT=1, GMDR=1 (3D): requires at least 3 nodes, have 2 (1 missing) and requires at least 3 nodes with disks, have 1 (2 missing)",
		},
		{
			"zonal names each zone that falls short",
			`{"name":"x","input":{"topology":"Zonal","ftt":0,"gmdr":1,"nodes":[{"name":"a","zone":"z1","disks":1},{"name":"b","zone":"z1","disks":2},{"name":"c","zone":"z2","disks":1}]}}`,
			`FTT=0, GMDR=1 (2D) with Zonal topology: zone "z2" requires at least 2 nodes, have 1 (1 missing) and requires at least 2 nodes with disks, have 1 (1 missing)`,
		},
		{
			"transzonal counts what can be placed safely",
			`{"name":"x","input":{"topology":"TransZonal","ftt":2,"gmdr":1,"nodes":[{"name":"a","zone":"a","disks":1},{"name":"b","zone":"b","disks":1},{"name":"c","zone":"c","disks":1}]}}`,
			`FTT=2, GMDR=1 (4D+1TB) with TransZonal topology: for the loss of any one zone to leave 2 copies and quorum, one zone may hold 2 Diskful, ` +
				`the zone of the tie-breaker 1; so 2 of 4 Diskful and the tie-breaker have a place (2 Diskful missing); ` +
				`have zone "a": 1 nodes, 1 with disks, zone "b": 1 nodes, 1 with disks, zone "c": 1 nodes, 1 with disks`,
		},
		{
			"a single copy cannot be spread", `{"name":"x","input":{"topology":"TransZonal"}}`,
			"FTT=0, GMDR=0 is a single copy, TransZonal needs copies in at least 2 zones: use Ignored, or raise GMDR to 1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := cases.Cases(strings.NewReader(tc.in), &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lines[answer](t, out.Bytes())[0].Message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALineThatCannotBeReadIsNamed(t *testing.T) {
	good := `{"name":"ok","input":{"topology":"Ignored","nodes":[{"name":"a","disks":1}]}}` + "\n"
	for name, bad := range map[string]string{
		"not JSON":            `{"name":`,
		"not an object":       `[1]`,
		"null":                `null`,
		"no input":            `{"name":"x"}`,
		"text for a number":   `{"name":"x","input":{"topology":"Ignored","ftt":"1"}}`,
		"half a node":         `{"name":"x","input":{"topology":"Ignored","nodes":[{"name":"a","disks":0.5}]}}`,
		"negative disks":      `{"name":"x","input":{"topology":"Ignored","nodes":[{"name":"a","disks":-1}]}}`,
		"an unknown word":     `{"name":"x","input":{"topology":"transzonal"}}`,
		"two objects":         good[:len(good)-1] + good[:len(good)-1],
		"a byte order mark":   "\ufeff" + good,
		"number out of range": `{"name":"x","input":{"topology":"Ignored","ftt":99999999999999999999}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := cases.Cases(strings.NewReader(good+"\n"+bad+"\n"+good), &out)
			var line *jsonl.LineError
			if !errors.As(err, &line) || line.Line != 3 {
				t.Fatalf("error %v, want one that names line 3", err)
			}
			if got := len(lines[answer](t, out.Bytes())); got != 1 {
				t.Errorf("%d answers before the bad line, want 1", got)
			}
		})
	}
}

func FuzzCases(f *testing.F) {
	samples, err := os.ReadFile("testdata/validation.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(samples) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		if err := cases.Cases(bytes.NewReader(in), &out); err != nil {
			return
		}
		for _, a := range lines[answer](t, out.Bytes()) {
			if a.Message == "" {
				t.Errorf("case %q is answered without a message", a.Name)
			}
		}
	})
}

func lines[T any](t *testing.T, text []byte) []T {
	t.Helper()
	var all []T
	for line := range bytes.Lines(text) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}
