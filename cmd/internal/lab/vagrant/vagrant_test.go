package vagrant

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/lab"
)

// The programs of a machine on which vagrant seems to be: vagrant and iptables write down what they are asked, ssh and sudo run it here.
var fakes = map[string]string{
	"vagrant": `echo "vagrant $*" >>"$LOG"
case $1 in
ssh-config) echo "Host n1" ;;
status) printf '1,n1,metadata,provider,libvirt\n1,n1,state,running\n1,n1,state-human-short,running\n1,n2,state,shutoff\n' ;;
halt) [ "$3" != n3 ] || { echo "The domain is gone" >&2; exit 1; } ;;
esac
`,
	"ssh": `while [ "$1" != n1 ] && [ "$1" != n2 ] && [ "$1" != n3 ]; do shift; done
echo "on $1" >>"$LOG"
[ "$1" != n3 ] || { echo "ssh: connect to host n3: No route to host" >&2; exit 255; }
shift
exec sh -c "$*"
`,
	"sudo":      `exec "$@"` + "\n",
	"systemctl": "exit 0\n",
	"iptables": `echo "iptables $*" >>"$LOG"
case $1 in -S) echo "-A RVOL -s 192.168.56.12/32 -j DROP" ;; esac
`,
}

// world is one, and what its programs were asked.
func world(t *testing.T) (w *World, asked func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for name, script := range fakes {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Vagrantfile"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("LOG", log)
	t.Chdir(dir)
	w, err := New(lab.Config{Nodes: 3, Dir: filepath.Join(dir, "run")}, filepath.Join(dir, "vagrant"))
	if err != nil {
		t.Fatal(err)
	}
	return w, func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

func TestWithoutVagrantItIsSaidSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := New(lab.Config{Nodes: 3, Dir: t.TempDir()}, "")
	if err == nil || !strings.Contains(err.Error(), "vagrant is not installed") || !strings.Contains(err.Error(), "kernel lab, which needs neither") {
		t.Errorf("got %v", err)
	}
}

func TestThereAreThreeMachines(t *testing.T) {
	w, _ := world(t)
	if _, err := New(lab.Config{Nodes: 5, Dir: t.TempDir()}, ""); err == nil || !strings.Contains(err.Error(), "the Vagrantfile has 3") {
		t.Errorf("five machines: %v", err)
	}
	for _, node := range []string{"n0", "n4", "1", "n01", "x"} {
		if err := w.Kill(t.Context(), node); err == nil || !strings.Contains(err.Error(), "n1 to n3") {
			t.Errorf("%s: %v", node, err)
		}
	}
}

func TestCommandsRunAsRootBySSH(t *testing.T) {
	w, _ := world(t)
	var out, text bytes.Buffer
	code, err := w.Exec(t.Context(), "n1", lab.Command{
		Argv: []string{"sh", "-c", `cat; printf '%s|' "$@" "$A"; echo oops >&2; exit 3`, "x", "it's", "a $b; c"}, Env: []string{"A=b c"},
		Stdin: strings.NewReader("in "), Stdout: &out, Stderr: &text,
	})
	if err != nil || code != 3 {
		t.Errorf("exit status %d, %v", code, err)
	}
	if diff := cmp.Diff([]string{"in it's|a $b; c|b c|", "oops\n"}, []string{out.String(), text.String()}); diff != "" {
		t.Error(diff)
	}
	if code, err := w.Exec(t.Context(), "n2", lab.Command{Argv: []string{"nosuchtool"}}); code != lab.CodeNotFound || err == nil {
		t.Errorf("a tool that is not there: %d, %v", code, err)
	}
	if _, err := w.Exec(t.Context(), "n3", lab.Command{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "No route to host") {
		t.Errorf("a machine out of reach: %v", err)
	}
}

func TestFilesAndFoldersArePushed(t *testing.T) {
	w, _ := world(t)
	src, dst := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "a"), []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{src: "folder", filepath.Join(src, "a"): "folder2/file"} {
		if err := w.Push(t.Context(), "n1", from, filepath.Join(dst, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"folder/a", "folder2/file"} {
		if text, err := os.ReadFile(filepath.Join(dst, name)); err != nil || string(text) != "text" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	if err := w.Push(t.Context(), "n1", filepath.Join(src, "missing"), dst+"/x"); err == nil {
		t.Error("nothing was pushed, and no error")
	}
	if err := w.Push(t.Context(), "n3", src, dst+"/x"); err == nil || !strings.Contains(err.Error(), "No route to host") {
		t.Errorf("to a machine out of reach: %v", err)
	}
}

func TestPowerIsVagrants(t *testing.T) {
	w, asked := world(t)
	if err := w.Kill(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
	if err := w.Stop(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
	if err := w.Start(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
	if err := w.Kill(t.Context(), "n3"); err == nil || !strings.Contains(err.Error(), "The domain is gone") {
		t.Errorf("a machine that vagrant does not stop: %v", err)
	}
	s, err := w.Status(t.Context())
	want := []lab.NodeStatus{{Name: "n1", State: "running", Address: "192.168.56.11"}, {Name: "n2", State: "shutoff", Address: "192.168.56.12"}}
	if diff := cmp.Diff(want, s.Nodes); diff != "" || err != nil {
		t.Error(err, diff)
	}
	wantAsked := []string{
		"vagrant halt --force n1", "vagrant halt n1", "vagrant up --no-provision n1", "on n1", "vagrant halt --force n3",
		"vagrant status --machine-readable",
	}
	if diff := cmp.Diff(wantAsked, asked()); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsAreTheFirewalls(t *testing.T) {
	w, asked := world(t)
	if err := w.Disturb(t.Context(), lab.Fault{A: "n1", B: "n2", Cut: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Disturb(t.Context(), lab.Fault{A: "n1", B: "n2", OneWay: true, Drop: 30}); err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, line := range asked() {
		if strings.HasPrefix(line, "on ") || strings.Contains(line, "-A RVOL") || strings.Contains(line, "-D RVOL") {
			changes = append(changes, line)
		}
	}
	want := []string{
		"on n2", "iptables -A RVOL -s 192.168.56.11 -j DROP",
		"on n1", "iptables -D RVOL -s 192.168.56.12/32 -j DROP", "iptables -A RVOL -s 192.168.56.12 -j DROP",
		"on n2", "iptables -A RVOL -s 192.168.56.11 -m statistic --mode random --probability 0.30 -j DROP",
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	if err := w.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if all := strings.Join(asked(), "\n"); !strings.HasSuffix(all, "iptables -F RVOL") || strings.Count(all, "iptables -F RVOL") != 1 {
		t.Errorf("healed by\n%s", all) // n2 is off
	}
	for _, f := range []lab.Fault{{A: "n1", Delay: 1}, {A: "n1", Network: 2}, {A: "n1", Drop: 101}, {A: "n9", Cut: true}} {
		if err := w.Disturb(t.Context(), f); err == nil {
			t.Errorf("%+v: done", f)
		}
	}
}

func TestLogsOfAMachineThatIsOffSaySo(t *testing.T) {
	w, _ := world(t)
	var out bytes.Buffer
	if err := w.Logs(t.Context(), "n3", &out); err != nil || !strings.Contains(out.String(), "n3: no journal") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestReachKeepsHowSSHDoesIt(t *testing.T) {
	w, _ := world(t)
	if err := w.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(w.sshConfig()); err != nil || string(text) != "Host n1\n" {
		t.Errorf("%q, %v", text, err)
	}
	f, err := w.Forward(t.Context(), "n2", 7170)
	if err != nil || f.Listen != "192.168.56.12:7170" {
		t.Errorf("%+v, %v", f, err)
	}
	if err := w.vagrant(t.Context(), io.Discard, "version"); err != nil {
		t.Error(err)
	}
}
