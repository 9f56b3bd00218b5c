package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// fakeSupport sends parts, and then ends as it was told.
type fakeSupport struct {
	adminv1.UnimplementedSupportServer
	f *fake
}

func (c fakeSupport) Bundle(_ *adminv1.BundleRequest, stream grpc.ServerStreamingServer[adminv1.BundlePart]) error {
	for _, p := range c.f.world.bundle {
		if err := stream.Send(p); err != nil {
			return err
		}
	}
	return c.f.world.bundleEnds
}

func TestSupportBundle(t *testing.T) {
	whole := []*adminv1.BundlePart{
		{File: "state/nodes.jsonl", Data: []byte("{}\n"), FileEnd: true},
		{File: "nodes/n1/journal.txt", Node: "n1", Data: []byte("one\n")},
		{File: "nodes/n2/journal.txt", Node: "n2", Data: []byte("of n2\n"), FileEnd: true}, // nodes send at the same time
		{File: "nodes/n1/journal.txt", Node: "n1", Data: []byte("two\n"), FileEnd: true},
		{File: "nodes/n3", Node: "n3", FileEnd: true, Missing: "its agent is not connected"},
	}
	for name, tt := range map[string]struct {
		parts []*adminv1.BundlePart
		ends  error
		code  int
		files []string // nil: there is no file
		err   string
	}{
		"whole": {
			parts: whole, files: []string{"README.txt", "manifest.json", "nodes/n1/journal.txt", "nodes/n2/journal.txt", "state/nodes.jsonl"},
			err: "nodes/n3: its agent is not connected\n",
		},
		"the leader goes: what came is kept": {
			parts: whole[:3], ends: status.Error(codes.Unavailable, "it lost leadership"), code: 1,
			files: []string{"README.txt", "manifest.json", "nodes/n2/journal.txt", "state/nodes.jsonl"}, err: "is not complete: it lost leadership",
		},
		"refused":                   {ends: status.Error(codes.PermissionDenied, "which is for operators"), code: 1, err: "which is for operators"},
		"a name that leads outside": {parts: []*adminv1.BundlePart{{File: "../x", FileEnd: true}}, code: 1, err: "no name for one"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.fake.world.bundle, s.fake.world.bundleEnds = tt.parts, tt.ends
			path := filepath.Join(t.TempDir(), "b.tar.gz")
			if code := s.run(t.Context(), "support-bundle", "-f", path); code != tt.code || !strings.Contains(s.err.String(), tt.err) {
				t.Errorf("exit status %d, want %d: %s", code, tt.code, s.err)
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) > 1 {
				t.Errorf("%v, it leaves %v", err, left)
			}
			if got := bundled(t, path); !slices.Equal(got, tt.files) {
				t.Errorf("it holds %q, want %q", got, tt.files)
			}
		})
	}
}

// bundled lists the files of a bundle, sorted; nil: there is none.
func bundled(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if stat, statErr := os.Stat(path); err != nil || statErr != nil || stat.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v, mode %v", err, statErr, stat.Mode())
	}
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		names = append(names, name)
	}
}
