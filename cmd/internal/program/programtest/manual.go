package programtest

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Verb reads the arguments of a verb as the program does; it writes its help to out.
type Verb func(args, environ []string, out io.Writer) error

// Manual demands that the manual page tells of every flag of every verb, and that the
// settings of the unit show those of run with their defaults.
func Manual(t *testing.T, program string, verbs map[string]Verb) {
	t.Helper()
	packaging := os.DirFS(filepath.Join("..", "..", "packaging")) // from cmd/PROGRAM
	page := strings.ReplaceAll(read(t, packaging, "man/"+program+".8"), `\-`, "-")
	for name, verb := range verbs {
		_, section, found := strings.Cut(page, "\n.SS "+program+" "+name+"\n")
		if !found {
			t.Errorf("the manual does not tell of %s %s", program, name)
		}
		section, _, _ = strings.Cut(section, "\n.S")
		for flag := range flags(t, verb) {
			if !strings.Contains(section, `\fB--`+flag+`\fR`) {
				t.Errorf("the manual of %s %s does not tell of --%s", program, name, flag)
			}
		}
	}
	file := "conf/" + strings.TrimPrefix(program, "rvol-") + ".env"
	settings := read(t, packaging, file)
	for flag, def := range flags(t, verbs["run"]) {
		if strings.HasPrefix(flag, "lab") {
			continue // nothing for a real machine
		}
		line := "#" + strings.ToUpper(strings.ReplaceAll(program+"_"+flag, "-", "_")) + "=" + def
		if !strings.Contains(settings, "\n"+line+"\n") {
			t.Errorf("packaging/%s lacks %q", file, line)
		}
	}
}

var flagRE = regexp.MustCompile(`(?m)^  -(\S+)( \w+)?\n(.*)$`)

// flags are the flags of a verb with their defaults, as its help tells them.
func flags(t *testing.T, verb Verb) map[string]string {
	t.Helper()
	var out bytes.Buffer
	if err := verb([]string{"--help"}, nil, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range flagRE.FindAllStringSubmatch(out.String(), -1) {
		_, def, _ := strings.Cut(m[3], " (default ")
		def = strings.Trim(strings.TrimSuffix(def, ")"), `"`)
		if m[2] == "" {
			def = "false"
		}
		all[m[1]] = def
	}
	if len(all) == 0 {
		t.Fatalf("no flags in %q", out.String())
	}
	return all
}

func read(t *testing.T, files fs.FS, name string) string {
	t.Helper()
	b, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
