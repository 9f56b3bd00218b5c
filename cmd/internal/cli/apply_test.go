package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	adminv1 "rvol/proto/admin/v1"
)

func TestApplyReadsWhatExportWrites(t *testing.T) {
	s := newSession(t)
	if code := s.run(t.Context(), "export"); code != 0 {
		t.Fatalf("export: %s", s.err)
	}
	file := s.out.String()
	s.env.Stdin = strings.NewReader(file)
	if code := s.run(t.Context(), "apply", "-f", "-", "--dry-run"); code != 2 || !strings.Contains(s.err.String(), "topology never changes") {
		t.Fatalf("apply: %s", s.err) // the fake takes nothing of class r2 but must have been asked
	}
	asked, ok := s.fake.asked["/rvol.admin.v1.Objects/Apply"].(*adminv1.ApplyRequest)
	if !ok {
		t.Fatal("nothing was asked")
	}
	var got []*adminv1.Spec
	for _, w := range asked.GetObjects() {
		got = append(got, w.GetSpec())
	}
	if diff := cmp.Diff(sampleSpecs(), got, protocmp.Transform()); diff != "" {
		t.Errorf("what was written differs from what was read (-written +read):\n%s", diff)
	}
	if !asked.GetDryRun() {
		t.Error("a dry run was carried out")
	}
}
