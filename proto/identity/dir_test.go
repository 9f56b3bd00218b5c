package identity

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modes lists the files of a directory, each with its mode.
func modes(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = info.Mode().String()
	}
	return found
}

// joined is a directory as a machine has it after a join.
func joined(t *testing.T, w world) (Dir, *Credentials) {
	t.Helper()
	dir := Dir(filepath.Join(t.TempDir(), "identity"))
	key, err := dir.EnsureKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := w.ca.SignMachine(&key.PublicKey, w.id(Agent, "node-1"), today())
	if err != nil {
		t.Fatal(err)
	}
	c, err := dir.Save(cert, w.roots)
	if err != nil {
		t.Fatal(err)
	}
	return dir, c
}

func TestDirKeepsCredentialsPrivate(t *testing.T) {
	dir, saved := joined(t, newWorld(t, "prod"))
	loaded, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	if loaded.ID != saved.ID || !loaded.Certificate().Equal(saved.Certificate()) || len(loaded.Roots) != 1 {
		t.Errorf("loaded %s, saved %s", loaded, saved)
	}
	want := map[string]string{"key.pem": "-rw-------", "cert.pem": "-rw-------"}
	if diff := cmp.Diff(want, modes(t, string(dir))); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(string(dir))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("drwx------", info.Mode().String()); diff != "" {
		t.Error(diff)
	}
}

func TestEnsureKeyMakesOneKeyOnly(t *testing.T) {
	dir := Dir(t.TempDir())
	first, err := dir.EnsureKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load before the join: %v, want fs.ErrNotExist", err)
	}
	second, err := dir.EnsureKey()
	if err != nil {
		t.Fatal(err)
	}
	if !first.Equal(second) {
		t.Error("a join that is repeated has another key")
	}
}

func TestDirSurvivesACrashBeforeTheRename(t *testing.T) {
	w := newWorld(t, "prod")
	dir, saved := joined(t, w)
	if _, err := writeTemp(dir.path(certFile), []byte("half a cert")); err != nil {
		t.Fatal(err)
	}
	if _, err := writeTemp(dir.path(keyFile), []byte("half a key")); err != nil {
		t.Fatal(err)
	}
	loaded, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Certificate().Equal(saved.Certificate()) {
		t.Error("another certificate came back")
	}
	for name, mode := range modes(t, string(dir)) {
		if mode != "-rw-------" {
			t.Errorf("%s has mode %s", name, mode)
		}
	}
	key, err := dir.EnsureKey()
	if err != nil {
		t.Fatal(err)
	}
	if !key.PublicKey.Equal(saved.Certificate().PublicKey) {
		t.Error("the key was replaced")
	}
	if got := modes(t, string(dir)); len(got) != 2 {
		t.Errorf("unfinished files were left: %v", got)
	}
}

func TestSaveRefusesACertificateForAnotherKeyAndKeepsTheOld(t *testing.T) {
	w := newWorld(t, "prod")
	dir, saved := joined(t, w)
	if _, err := dir.Save(w.issue(t, Agent, "node-1").Certificate(), w.roots); err == nil {
		t.Error("a certificate for another key was saved")
	}
	loaded, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Certificate().Equal(saved.Certificate()) {
		t.Error("the old certificate is gone")
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	w := newWorld(t, "prod")
	stranger, err := EncodeKey(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		spoil func(Dir) error
		says  string
	}{
		"a key that others may read":  {func(d Dir) error { return os.Chmod(d.path(keyFile), 0o644) }, "run chmod 0600"},
		"a key that the group reads":  {func(d Dir) error { return os.Chmod(d.path(keyFile), 0o640) }, "mode 0640"},
		"another key":                 {func(d Dir) error { return WriteFile(d.path(keyFile), stranger) }, "another private key"},
		"an empty key":                {func(d Dir) error { return WriteFile(d.path(keyFile), nil) }, "want one PEM block"},
		"an empty certificate":        {func(d Dir) error { return WriteFile(d.path(certFile), nil) }, "there is none"},
		"a certificate with no CA":    {cutTo(1), "unknown authority"},
		"garbage in the certificates": {func(d Dir) error { return WriteFile(d.path(certFile), []byte("hello")) }, "something else than a PEM certificate"},
		"no key":                      {func(d Dir) error { return os.Remove(d.path(keyFile)) }, "load private key"},
		"no certificate":              {func(d Dir) error { return os.Remove(d.path(certFile)) }, "load certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := joined(t, w)
			if err := tc.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, err := dir.Load()
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), string(dir)) {
				t.Errorf("got %v, want %q and the path", err, tc.says)
			}
		})
	}
}

// cutTo keeps the first n certificates of the file.
func cutTo(n int) func(Dir) error {
	return func(d Dir) error {
		text, err := os.ReadFile(d.path(certFile))
		if err != nil {
			return err
		}
		certs, err := ParseCertificates(text)
		if err != nil {
			return err
		}
		return WriteFile(d.path(certFile), EncodeCertificates(certs[:n]...))
	}
}

func TestEnsureKeyDoesNotReplaceAKeyItCannotRead(t *testing.T) {
	dir := Dir(t.TempDir())
	if err := WriteFile(dir.path(keyFile), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.EnsureKey(); err == nil {
		t.Error("a damaged key was passed over")
	}
	if text, err := os.ReadFile(dir.path(keyFile)); err != nil || string(text) != "damaged" {
		t.Errorf("the file now holds %q, %v", text, err)
	}
}

func TestWriteFileNarrowsTheModeAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"f": "-rw-------"}, modes(t, dir)); diff != "" {
		t.Error(diff)
	}
	// A directory in the file's place lets the write succeed and the rename fail.
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "d"), []byte("new")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if got := modes(t, dir); len(got) != 2 {
		t.Errorf("a failed write left something behind: %v", got)
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func TestLoadSealingKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sealing-key")
	want := NewSealingKey()
	if err := WriteFile(path, want.Reveal()); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadSealingKey(path); err != nil || got != want {
		t.Errorf("another key came back, or %v", err)
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSealingKey(path); err == nil || !strings.Contains(err.Error(), "run chmod 0600 "+path) {
		t.Errorf("a key that others may read: %v", err)
	}
	if err := WriteFile(path, []byte("short")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSealingKey(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a short key: %v", err)
	}
}

func TestPEMRefusesWhatDoesNotBelong(t *testing.T) {
	w := newWorld(t, "prod")
	ca := EncodeCertificates(w.ca.Certificate())
	leaf := EncodeCertificates(w.issue(t, Agent, "a").Certificate())
	key, err := EncodeKey(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "a machine's certificate": leaf, "a key": key, "text behind it": slices.Concat(ca, []byte("hello")),
	} {
		if _, err := ParseRoots(text); err == nil {
			t.Errorf("%s was taken for CA certificates", name)
		}
	}
	if roots, err := ParseRoots(slices.Concat(ca, ca)); err != nil || len(roots) != 2 {
		t.Errorf("two CAs: %d, %v", len(roots), err)
	}
	for name, text := range map[string][]byte{"nothing": nil, "a certificate": ca, "two keys": slices.Concat(key, key)} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%s was taken for a private key", name)
		}
	}
}

func TestFingerprintSurvivesJSON(t *testing.T) {
	want := FingerprintOf(newWorld(t, "prod").ca.Certificate())
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`"`+want.String()+`"`, string(text)); diff != "" {
		t.Error(diff)
	}
	var got Fingerprint
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{"", "00", strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		if _, err := ParseFingerprint(bad); err == nil {
			t.Errorf("%q was taken for a fingerprint", bad)
		}
	}
}
