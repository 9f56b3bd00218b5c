package cases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/internal/jsonl"
	"rvol/coordinator/decide/scheduling/cases"
)

type answer struct {
	Name     string    `json:"name"`
	Replicas []outcome `json:"replicas"`
}

type outcome struct {
	ID        int    `json:"id"`
	Node      string `json:"node"`
	LVG       string `json:"lvg"`
	ThinPool  string `json:"thin_pool"`
	Scheduled string `json:"scheduled"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

func TestEveryRecordedCaseIsAnsweredAsExpected(t *testing.T) {
	samples := read(t, "testdata/placement.jsonl")
	answers := lines[answer](t, run(t, samples))
	type sample struct {
		Name   string `json:"name"`
		Expect answer `json:"expect"`
	}
	want := lines[sample](t, samples)
	if len(answers) != len(want) {
		t.Fatalf("%d answers to %d cases", len(answers), len(want))
	}
	for i, w := range want {
		w.Expect.Name = w.Name
		if diff := cmp.Diff(w.Expect, answers[i]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", w.Name, diff)
		}
	}
}

func TestGuardsSpeakForEveryReplica(t *testing.T) {
	for _, tc := range []struct{ missing, want string }{
		{`"volume_missing":true,"configuration_missing":true,"pool_missing":true`, "ReplicatedVolume not found; waiting for it to be present"},
		{`"configuration_missing":true,"pool_missing":true`, "ReplicatedVolume has no configuration yet; waiting for it to appear"},
		{`"pool_missing":true`, "ReplicatedStoragePool not found; waiting for it to be present"},
	} {
		in := fmt.Sprintf(`{"name":"x","input":{%s,"replicas":[{"id":1,"type":"Access","node":"a"},{"id":0,"type":"Diskful"}]}}`, tc.missing)
		want := []outcome{
			{ID: 0, Scheduled: "Unknown", Reason: "WaitingForReplicatedVolume", Message: tc.want},
			{ID: 1, Node: "a", Scheduled: "Unknown", Reason: "WaitingForReplicatedVolume", Message: tc.want},
		}
		if diff := cmp.Diff(want, lines[answer](t, run(t, []byte(in)))[0].Replicas); diff != "" {
			t.Error(diff)
		}
	}
}

func TestACaseWithoutReplicasHasAnEmptyList(t *testing.T) {
	got := string(run(t, []byte(`{"name":"none","new_field":1,"input":{"another":[]}}`)))
	if diff := cmp.Diff("{\"name\":\"none\",\"replicas\":[]}\n", got); diff != "" {
		t.Error(diff)
	}
}

func TestAReplicaOfAnUnknownTypeIsLeftAlone(t *testing.T) {
	in := `{"name":"x","input":{"nodes":[{"name":"a","ready":true,"agent_ready":true}],"replicas":[
		{"id":0,"type":"Shadow"},{"id":1,"type":"Shadow","node":"a","has_scheduled_true":true}]}}`
	got := lines[answer](t, run(t, []byte(strings.ReplaceAll(in, "\n", ""))))[0].Replicas
	want := []outcome{{ID: 0, Scheduled: "absent"}, {ID: 1, Node: "a", Scheduled: "True", Reason: "Scheduled"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestALineThatCannotBeReadIsNamed(t *testing.T) {
	good := `{"name":"ok","input":{"topology":"Ignored","replicas":[{"id":0,"type":"Diskful"}]}}` + "\n"
	for name, bad := range map[string]string{
		"not JSON":             `{"name":`,
		"not an object":        `"text"`,
		"null":                 `null`,
		"no input":             `{"name":"x"}`,
		"text for a number":    `{"name":"x","input":{"size_bytes":"10"}}`,
		"half a byte":          `{"name":"x","input":{"size_bytes":0.5}}`,
		"more than int64":      `{"name":"x","input":{"size_bytes":9223372036854775808}}`,
		"negative size":        `{"name":"x","input":{"size_bytes":-1}}`,
		"an unknown topology":  `{"name":"x","input":{"topology":"transzonal"}}`,
		"an unknown pool type": `{"name":"x","input":{"pool_type":"ZFS"}}`,
		"ftt too large":        `{"name":"x","input":{"ftt":3}}`,
		"a list for a node":    `{"name":"x","input":{"nodes":[[]]}}`,
		"the same id twice":    `{"name":"x","input":{"replicas":[{"id":1},{"id":1}]}}`,
		"an id out of range":   `{"name":"x","input":{"replicas":[{"id":32}]}}`,
		"two objects":          strings.TrimSpace(good) + strings.TrimSpace(good),
		"a byte order mark":    "\ufeff" + good,
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := cases.Cases(strings.NewReader(good+" \t\n"+bad+"\n"+good), &out)
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

func TestLinesOfMegabytesAreRead(t *testing.T) {
	var nodes []string
	for i := range 40_000 {
		nodes = append(nodes, fmt.Sprintf(`{"name":"n%05d","zone":"z","ready":true,"agent_ready":true,"lvgs":[{"name":"vg%05d","ready":true}]}`, i, i))
	}
	in := `{"name":"big","input":{"nodes":[` + strings.Join(nodes, ",") +
		`],"replicas":[{"id":0,"type":"Diskful"}],"scores":[{"lvg":"vg39999","score":1}]}}`
	if len(in) < 3<<20 {
		t.Fatalf("the line has only %d bytes", len(in))
	}
	if got := lines[answer](t, run(t, []byte(in)))[0].Replicas[0].Node; got != "n39999" {
		t.Errorf("placed on %q", got)
	}
}

func FuzzCases(f *testing.F) {
	samples, err := os.ReadFile("testdata/placement.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(samples) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out, again bytes.Buffer
		if err := cases.Cases(bytes.NewReader(in), &out); err != nil {
			return
		}
		if err := cases.Cases(bytes.NewReader(in), &again); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Fatalf("the second answer differs: %v", err)
		}
		for _, a := range lines[answer](t, out.Bytes()) {
			for _, r := range a.Replicas {
				if r.Reason == "SchedulingFailed" && r.Message == "" {
					t.Errorf("replica %d failed without a word", r.ID)
				}
			}
		}
	})
}

func run(t *testing.T, in []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := cases.Cases(bytes.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
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
