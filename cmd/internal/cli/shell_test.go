package cli_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"rvol/cmd/internal/cli"
)

// socketVariable makes this test's program behave as `rvol`, asking the fake behind that socket. Shells complete by running `rvol`.
const socketVariable = "RVOL_TEST_SOCKET"

func TestMain(m *testing.M) {
	socket := os.Getenv(socketVariable)
	if socket == "" || filepath.Base(os.Args[0]) != "rvol" {
		os.Exit(m.Run())
	}
	os.Exit(cli.Run(context.Background(), cli.Env{
		Endpoints: []string{"c1"},
		Dial: func(context.Context, string) (grpc.ClientConnInterface, error) {
			return grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		},
	}, os.Args[1:]))
}

// shells complete command lines with their own machinery. Their scripts are told the file with the completion, then the
// lines, and print each line behind "== ", and then the words that it may go on with.
var shells = map[string]struct {
	args   []string
	script string
}{
	"bash": {[]string{"--norc", "-c"}, `
		. /usr/share/bash-completion/bash_completion
		. "$1"
		function=$(complete -p rvol | sed 's/.*-F \([^ ]*\) .*/\1/')
		for line in "${@:2}"; do
			COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMP_KEY=9
			read -ra COMP_WORDS <<<"$line"
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			$function rvol "${COMP_WORDS[COMP_CWORD]}"
			printf '%s\n' "== $line" "${COMPREPLY[@]%% *}"
		done
	`},
	"fish": {[]string{"--no-config", "-c"}, `
		source $argv[2]
		for line in $argv[3..]
			echo "== $line"
			complete -C $line | string split -f1 \t
		end
		true
	`},
	// zsh completes only for somebody who types: it is started on a terminal of its own. What it offers is written down
	// by the function in which all its completions end.
	"zsh": {[]string{"-f", "-c"}, `
		zmodload zsh/zpty
		mkdir -p $TMPDIR/functions && cp $1 $TMPDIR/functions/_rvol
		zpty shell zsh -f -i
		await() { local text; while zpty -r shell text "*$1*"; do [[ $text == *$1* ]] && return; done }
		zpty -w shell 'PS1=; fpath=($TMPDIR/functions $fpath); autoload -Uz compinit && compinit -u -D
			compadd() { local -a hits; builtin compadd -A hits "$@"; print -l -- $hits >>$TMPDIR/hits; builtin compadd "$@" }
			ready() { zle kill-whole-line; print -- all-"is"-offered }; zle -N ready; bindkey "^X" ready; print -- now-"it"-begins'
		await now-it-begins
		for line in ${@:2}; do
			: >$TMPDIR/hits
			zpty -w -n shell "$line"$'\t\x18'
			await all-is-offered
			print -- "== $line"
			sort -u $TMPDIR/hits
		done
		zpty -d shell
	`},
}

// completions are lines and what they may go on with, in the fake's world.
var completions = [][2]string{
	{"rvol volume show d", "db-1 db-2"},
	{"rvol volume show db-1 d", "db-2"},
	{"rvol volume attach db-1 n", "n1 n2 n3"},
	{"rvol volume create db-3 --class r", "r2"},
	{"rvol lvg show n", "n1/vg0"},
	{"rvol support-b", "support-bundle"},
	{"rvol volume list -o j", "json"},
}

func TestShellsCompleteLiveNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	newFake().listen(t, l)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "rvol")); err != nil {
		t.Fatal(err)
	}
	for shell, how := range shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Fatalf("%v: `make setup` installs it", err)
			}
			home := t.TempDir()
			env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), socketVariable+"="+socket, "HOME="+home, "TMPDIR="+home, "TERM=dumb", "XDG_CONFIG_HOME="+home)
			script := filepath.Join(home, "completion")
			if err := os.WriteFile(script, run(t, env, filepath.Join(dir, "rvol"), "completion", shell), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, env, program, "-n", script) // its own look at the syntax
			args := append(slices.Clone(how.args), how.script, shell, script)
			want := ""
			for _, c := range completions {
				args = append(args, c[0])
				want += "== " + c[0] + "\n" + strings.ReplaceAll(c[1], " ", "\n") + "\n"
			}
			if diff := cmp.Diff(want, string(run(t, env, program, args...))); diff != "" {
				t.Errorf("completions (-want +got):\n%s", diff)
			}
		})
	}
}

func run(t *testing.T, env []string, program string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	var errs bytes.Buffer
	c.Env, c.Stderr = env, &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", program, args, err, out, errs.String())
	}
	return out
}
