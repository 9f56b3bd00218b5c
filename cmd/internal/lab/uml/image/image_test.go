package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	packaging "rvol/packaging/lab"
)

func TestTheMirrorIsTheOneWithUpdates(t *testing.T) {
	for _, c := range []struct {
		name, printed, want string
	}{
		{"Debian's own archive has NAME-updates", `'http://other.example/node/dists/nodistro/InRelease' other 0
'http://m.example/deb/dists/bookworm/InRelease' a 0
'http://m.example/deb/dists/bookworm-updates/InRelease' b 0
'http://s.example/debian-security/dists/bookworm-security/InRelease' c 0
`, "http://m.example/deb"},
		{"without updates, the one at /debian", `'http://x.example/tool/dists/bookworm/InRelease' a 0
'http://m.example/debian/dists/bookworm/InRelease' b 0
`, "http://m.example/debian"},
		{"another release is not taken", "'http://m.example/debian/dists/trixie-updates/InRelease' b 0\n", ""},
		{"nothing printed", "", ""},
		{"noise", "E: Could not get lock\n'broken\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mirrorIn(c.printed, "bookworm"); got != c.want {
				t.Errorf("got %q, wanted %q", got, c.want)
			}
		})
	}
}

func FuzzMirrorIn(f *testing.F) {
	f.Add("'http://m.example/debian/dists/bookworm-updates/InRelease' b 0\n", "bookworm")
	f.Fuzz(func(t *testing.T, printed, codename string) {
		if got := mirrorIn(printed, codename); strings.Contains(got, "'") {
			t.Errorf("%q", got)
		}
	})
}

func TestTheHostsReleaseIsRead(t *testing.T) {
	id, codename := osRelease("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_CODENAME='bookworm'\n")
	if id != "debian" || codename != "bookworm" {
		t.Errorf("%q %q", id, codename)
	}
}

func TestAMirrorThatIsGivenIsTaken(t *testing.T) {
	m := &maker{Sources: FromEnv(func(k string) string { return map[string]string{"RVOL_LAB_MIRROR": "file:/mirror"}[k] })}
	if got, err := m.mirror(t.Context()); err != nil || got != "file:/mirror" {
		t.Error(got, err)
	}
}

func TestListsPastTheirValidUntilAreRecognized(t *testing.T) {
	expired := "E: Release file for http://m.example/debian/dists/sid/InRelease is expired (invalid since 12d 3h 5min 2s). Updates for this repository will not be applied.\n"
	if !pastValidUntil(expired) {
		t.Error("not recognized")
	}
	if pastValidUntil("E: Failed to fetch http://m.example/debian/dists/sid/InRelease  404  Not Found") {
		t.Error("a list that is not there is taken for an expired one")
	}
}

// folder makes a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheNameOfAnImageFollowsAllThatIsInIt(t *testing.T) {
	name := func(dir string) string {
		t.Helper()
		sum, err := hashAll(func(h hasher) error { return hashFolder(h, dir) })
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	base := map[string]string{"a/b": "text", "c": ""}
	want := name(folder(t, base))
	if got := name(folder(t, base)); got != want {
		t.Error("the same files elsewhere have another name")
	}
	seen := map[string]string{want: "the first"}
	for what, files := range map[string]map[string]string{
		"another content": {"a/b": "texT", "c": ""}, "another file": {"a/b": "text", "d": ""}, "a file less": {"a/b": "text"},
		"moved bytes": {"a/b": "tex", "c": "t"},
	} {
		got := name(folder(t, files))
		if seen[got] != "" {
			t.Errorf("%s has the name of %s", what, seen[got])
		}
		seen[got] = what
	}
	mode := folder(t, base)
	if err := os.Chmod(filepath.Join(mode, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if seen[name(mode)] != "" {
		t.Error("another mode has the same name")
	}
	if none := name(""); none != name("") || seen[none] != "" {
		t.Error("no folder has no name of its own")
	}
}

func TestModulesOfOneReleaseAndOfManyAreTheSame(t *testing.T) {
	tree := folder(t, map[string]string{"7.2.7/updates/drbd.ko": "", "7.2.7/kernel/x.ko": ""})
	for _, given := range []string{tree, filepath.Join(tree, "7.2.7")} {
		m := &maker{Sources: Sources{Modules: given}, dir: t.TempDir()}
		got, done, err := m.moreModules()
		if err != nil {
			t.Fatal(err)
		}
		if !exists(filepath.Join(got, "7.2.7", "updates", "drbd.ko")) {
			t.Errorf("%s: no release below %s", given, got)
		}
		done()
		if !exists(filepath.Join(tree, "7.2.7", "updates", "drbd.ko")) {
			t.Fatal("the modules that were given are gone")
		}
	}
}

func TestTheFilesOfANodeAreComplete(t *testing.T) {
	for _, name := range []string{"mkimage.sh", "mklayer.sh", "packages", "masked-units", "kept-modules", "node/usr/local/sbin/lab-init", "node/etc/systemd/system/labagent.service"} {
		if b, err := packaging.Files.ReadFile(name); err != nil || len(b) == 0 {
			t.Error(name, err)
		}
	}
}
