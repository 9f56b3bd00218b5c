package drbdtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRecordingIsReplayedOrSaidWhyNot compares the lists of all recordings there are
// with what the scripts replay and what testdata/replay/uncovered says.
func TestEveryRecordingIsReplayedOrSaidWhyNot(t *testing.T) {
	replayed := map[string]bool{} // "9.3.3 126"
	scripts, err := filepath.Glob("testdata/replay/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scripts {
		folder := "9.3.3 "
		if strings.HasPrefix(filepath.Base(f), "84-") {
			folder = "8.4.11 "
		}
		for _, line := range lines(t, f) {
			for word := range strings.FieldsSeq(line) {
				if number := strings.TrimPrefix(word, "~"); strings.Trim(line, "~0123456789 ") == "" {
					replayed[folder+number] = true
				}
			}
		}
	}
	for _, folder := range []string{"9.3.3", "8.4.11"} {
		reasons := uncovered(t, folder)
		used := map[string]bool{}
		list, err := os.ReadFile(filepath.Join("..", "testdata", folder, "RECORDINGS"))
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(list)) {
			number, _, _ := strings.Cut(name, "-")
			reason := ""
			for pattern, why := range reasons {
				if pattern.MatchString(name) {
					reason, used[pattern.String()] = why, true
				}
			}
			switch is := replayed[folder+" "+number]; {
			case is && reason != "":
				t.Errorf("%s/%s is replayed, and said not to be: %s", folder, name, reason)
			case !is && reason == "":
				t.Errorf("%s/%s is not replayed, and nothing says why", folder, name)
			}
		}
		for pattern := range reasons {
			if !used[pattern.String()] {
				t.Errorf("uncovered: no recording of %s is like %s", folder, pattern)
			}
		}
	}
}

// uncovered reads why recordings are not replayed: FOLDER WORDS: REASON, where a word is
// a number or a part of a name.
func uncovered(t *testing.T, folder string) map[*regexp.Regexp]string {
	t.Helper()
	reasons := map[*regexp.Regexp]string{}
	for at, line := range lines(t, "testdata/replay/uncovered") {
		which, why, ok := strings.Cut(line, ": ")
		words := strings.Fields(which)
		if !ok || len(words) < 2 {
			t.Fatalf("uncovered:%d: %q", at, line)
		}
		if words[0] != folder {
			continue
		}
		for _, w := range words[1:] {
			pattern := regexp.QuoteMeta(w)
			if strings.Trim(w, "0123456789") == "" {
				pattern = "^" + w + "-"
			}
			reasons[regexp.MustCompile(pattern)] = why
		}
	}
	return reasons
}
