package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// session runs commands against a fake.
type session struct {
	fake     *fake
	env      cli.Env
	out, err *bytes.Buffer
}

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{fake: newFake(), out: new(bytes.Buffer), err: new(bytes.Buffer)}
	s.env = cli.Env{
		Stdin: strings.NewReader(""), Stdout: s.out, Stderr: s.err, Dial: s.fake.serve(t), Endpoints: []string{"c1"},
		Getenv: func(string) string { return "" }, Now: func() time.Time { return now },
		IsTerminal: func(any) bool { return false },
	}
	return s
}

// run returns the exit status of a command, and leaves what it wrote in out and err.
func (s *session) run(ctx context.Context, args ...string) int {
	s.out.Reset()
	s.err.Reset()
	return cli.Run(ctx, s.env, args)
}

// TestTranscripts runs the commands of testdata/*.txt, each against a fresh cluster, and compares what they write. Lines
// of standard error begin with "! ", the last line names the exit status when it is not 0.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("transcripts: %v, %d found", err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("transcript differs (-want +got):\n%s", diff)
			}
		})
	}
}

// replay keeps comments and commands, and writes what the commands answer now.
func replay(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(line, "$ rvol ")
		switch {
		case strings.HasPrefix(line, "#"):
			b.WriteString(line)
		case ok:
			s := newSession(t)
			code := s.run(t.Context(), strings.Fields(command)...)
			fmt.Fprintf(&b, "%s%s", line, s.out)
			for line := range strings.Lines(s.err.String()) {
				b.WriteString("! " + line)
			}
			if code != 0 {
				fmt.Fprintf(&b, "exit %d\n", code)
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
