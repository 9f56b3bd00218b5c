package lvm

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func TestReportsOfRealLVM(t *testing.T) {
	for _, version := range versions {
		for _, name := range []string{
			"fullreport", "fullreport-empty", "fullreport-empty-groups", "fullreport-orphan-pv",
			"fullreport-partial", "fullreport-partial-active", "fullreport-pool-full",
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				r, err := New(readVersion(t, version, name).run).Report(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				compareGolden(t, filepath.Join("testdata", version, name+".golden"), r)
			})
		}
	}
}

func compareGolden(t *testing.T, golden string, r Report) {
	t.Helper()
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestReportBesideAnErrorIsNotUsed(t *testing.T) {
	r, err := New(readRecording(t, "fullreport-missing-group").run).Report(t.Context(), "vg1", "vgX")
	if !errors.Is(err, ErrNotFound) || len(r.VGs) != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestTruncatedReportIsGarbage(t *testing.T) {
	out := strings.TrimRight(readRecording(t, "fullreport").stdout, " \n")
	for n := range len(out) {
		r, err := parseReport([]byte(out[:n]))
		if err == nil || len(r.VGs)+len(r.LVs)+len(r.PVs) != 0 {
			t.Fatalf("the first %d of %d bytes gave %+v, %v", n, len(out), r, err)
		}
	}
}

// TestReportWithoutARowIsGarbage takes every line of an object out in turn.
func TestReportWithoutARowIsGarbage(t *testing.T) {
	lines := strings.SplitAfter(readRecording(t, "fullreport").stdout, "\n")
	tried := 0
	for i, line := range lines {
		if !strings.Contains(line, `{"`) {
			continue
		}
		rest := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
		// The line before the last row of a list ends with a comma.
		rest = strings.NewReplacer("},\n              ]", "}\n              ]").Replace(rest)
		if !json.Valid([]byte(rest)) {
			t.Fatalf("without line %d it is not even JSON", i)
		}
		if r, err := parseReport([]byte(rest)); err == nil {
			t.Errorf("without %q: %d groups, %d volumes", line, len(r.VGs), len(r.LVs))
		}
		tried++
	}
	if tried < 10 {
		t.Fatalf("only %d rows were tried", tried)
	}
}

// TestReportWithoutAColumnIsGarbage renames every column in turn.
func TestReportWithoutAColumnIsGarbage(t *testing.T) {
	out := readRecording(t, "fullreport").stdout
	for _, columns := range []string{vgColumns, pvColumns, lvColumns} {
		for column := range strings.SplitSeq(columns, ",") {
			without := strings.ReplaceAll(out, `"`+column+`"`, `"renamed"`)
			_, err := New(recording{stdout: without}.run).Report(t.Context())
			if !errors.Is(err, ErrGarbage) {
				t.Errorf("without %s: %v", column, err)
			}
		}
	}
}

func TestDamagedReportIsGarbage(t *testing.T) {
	out := readRecording(t, "fullreport").stdout
	tests := map[string]string{
		"nothing":                  "",
		"no report":                "{}",
		"a report that is null":    `{"report": null}`,
		"a warning before it":      "  WARNING: something\n" + out,
		"words after it":           out + "\nDone.",
		"a size that is no number": strings.Replace(out, `"vg_size":"`, `"vg_size":"x`, 1),
		"a negative size":          strings.Replace(out, `"lv_size":"`, `"lv_size":"-`, 1),
		"a size beyond 63 bits":    strings.Replace(out, `"lv_size":"`, `"lv_size":"99999999999`, 1),
		"a UUID that is none":      strings.Replace(out, `"lv_uuid":"`, `"lv_uuid":"!`, 1),
		"a short attribute":        strings.Replace(out, `"lv_attr":"`, `"lv_attr":"","x":"`, 1),
		"a percentage beyond 100":  strings.Replace(out, `"data_percent":"1`, `"data_percent":"101`, 1),
		"no name":                  strings.Replace(out, `"lv_name":"data"`, `"lv_name":""`, 1),
		"another group's volume":   strings.Replace(out, `"vg_uuid":"FkrhU9-xEtq-gIiy-UMKm-VCj6-RPf2-DLeJdM", "lv_size"`, `"vg_uuid":"`+someUUID+`", "lv_size"`, 1),
		"another group's disk":     strings.Replace(out, `"vg_name":"vg0", "pv_size"`, `"vg_name":"vg9", "pv_size"`, 1),
		"an extent of nothing":     strings.Replace(out, `"vg_extent_size":"4194304"`, `"vg_extent_size":"0"`, 1),
		"two groups in one":        strings.Replace(out, `"vg": [`, `"vg": [`+vgRow(t, out)+",", 1),
		"a number for a text":      strings.Replace(out, `"pv_count":"2"`, `"pv_count":2`, 1),
	}
	for name, damaged := range tests {
		t.Run(name, func(t *testing.T) {
			if damaged == out {
				t.Fatal("nothing was damaged")
			}
			r, err := New(recording{stdout: damaged}.run).Report(t.Context())
			if !errors.Is(err, ErrGarbage) {
				t.Errorf("got %v, want ErrGarbage", err)
			}
			if diff := cmp.Diff(Report{}, r); diff != "" {
				t.Errorf("partial data: %s", diff)
			}
		})
	}
}

func vgRow(t *testing.T, out string) string {
	t.Helper()
	_, rest, _ := strings.Cut(out, `"vg": [`)
	row, _, found := strings.Cut(rest, "]")
	if !found {
		t.Fatal("no row of a group")
	}
	return row
}

func TestOpenIsAssumedOfWhatLVMCannotTell(t *testing.T) {
	out := readRecording(t, "fullreport").stdout
	unknown := strings.ReplaceAll(out, `"lv_active":"active", "lv_device_open":""`, `"lv_active":"unknown", "lv_device_open":"unknown"`)
	r, err := New(recording{stdout: unknown}.run).Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lv, _ := r.LV("vg0", "rvol-db.0.1"); !lv.Open || lv.Active {
		t.Errorf("got %+v", lv)
	}
	if lv, _ := r.LV("vg0", "snap1"); lv.Open || lv.Active {
		t.Errorf("inactive volumes are closed: %+v", lv)
	}
}

func TestSignaturesOfRealDisks(t *testing.T) {
	tests := map[string][]string{"wipefs-empty": nil, "wipefs-ext4": {"ext4"}, "wipefs-pv": {"LVM2_member"}}
	for name, want := range tests {
		for _, version := range versions {
			found, err := New(readVersion(t, version, name).run).Signatures(t.Context(), "/dev/sdb")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range found {
				got = append(got, s.Type)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	for _, garbage := range []string{"", "{}", `{"signatures": null}`, `{"signatures": [{}]}`, `{"signatures": [`} {
		if _, err := New(recording{stdout: garbage}.run).Signatures(t.Context(), "/dev/sdb"); !errors.Is(err, ErrGarbage) {
			t.Errorf("%q: got %v, want ErrGarbage", garbage, err)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	for _, name := range []string{"fullreport", "fullreport-empty", "fullreport-orphan-pv", "fullreport-partial"} {
		f.Add([]byte(readRecording(f, name).stdout))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := parseReport(out)
		if err != nil {
			if diff := cmp.Diff(Report{}, r); diff != "" {
				t.Errorf("an error with partial data: %s", diff)
			}
			return
		}
		counted := 0
		for _, vg := range r.VGs {
			counted += vg.LVCount
		}
		if counted != len(r.LVs) {
			t.Errorf("%d volumes counted, %d listed", counted, len(r.LVs))
		}
	})
}

func FuzzClassify(f *testing.F) {
	for _, name := range []string{"lvcreate-no-space", "lvextend-no-space", "vgcreate-signature", "lvremove-open"} {
		r := readRecording(f, name)
		f.Add(r.code, r.stderr)
	}
	f.Fuzz(func(t *testing.T, code int, stderr string) {
		err := newError("lvcreate", "vg0/a", replayed{recording{code: code, stderr: stderr}})
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err.Error())
		}
		if (err.Needed != 0 || err.Free != 0) && !errors.Is(err, ErrNoSpace) {
			t.Errorf("numbers without a reason: %+v", err)
		}
	})
}
