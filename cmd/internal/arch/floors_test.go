package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A rule says what the packages below a path may import of rvol's own, and why.
type rule struct {
	path string   // "rvol/drbd": that package and those below it; the longest matching rule counts
	may  []string // the same way; a package may always import what is below its own rule's path
	why  string
}

// floors is who may import whom. Imports only go down.
var floors = []rule{
	{"rvol/drbd", nil, "the language of the DRBD tools needs nobody"},
	{"rvol/lvm", nil, "the language of the LVM tools needs nobody"},
	{"rvol/drbd/drbdtest", []string{"rvol/drbd"}, "a simulated kernel speaks the tools' language"},
	{"rvol/lvm/lvmtest", []string{"rvol/lvm"}, "a simulated LVM speaks the tools' language"},
	{"rvol/proto", nil, "what both sides agree on depends on neither"},
	{"rvol/proto/clientconfig", []string{"rvol/proto/identity"}, "the client's file holds an identity"},

	{"rvol/agent/host", nil, "the machine knows no DRBD and no LVM: its Run fits their Runner"},
	{"rvol/agent/storage", []string{"rvol/lvm"}, "backing storage is LVM"},
	{"rvol/agent/decide", []string{"rvol/drbd", "rvol/lvm"}, "decisions do no I/O"},
	{"rvol/agent/observe", []string{"rvol/agent/host", "rvol/agent/storage", "rvol/agent/decide", "rvol/drbd", "rvol/lvm"}, "observing acts on nothing"},
	{"rvol/agent/act", []string{"rvol/agent/observe", "rvol/agent/host", "rvol/agent/storage", "rvol/agent/decide", "rvol/drbd", "rvol/lvm"}, "acting does not know the wire"},
	{"rvol/agent/fence", []string{"rvol/agent/decide", "rvol/drbd"}, "who asks does not know the wire"},
	{"rvol/agent/collect", []string{"rvol/proto/redact"}, "who tells how it is can change nothing"},
	{"rvol/agent/session", []string{"rvol/agent/decide", "rvol/agent/act", "rvol/agent/collect", "rvol/agent/fence", "rvol/proto", "rvol/drbd", "rvol/lvm"}, "the session alone knows the wire"},
	{"rvol/agent/metrics", []string{"rvol/agent/observe", "rvol/agent/host", "rvol/agent/decide", "rvol/proto/probe", "rvol/drbd"}, "who tells how it goes can change nothing"},
	{"rvol/agent", []string{"rvol/drbd", "rvol/lvm", "rvol/proto"}, "agent and coordinator meet only in proto"},

	{"rvol/coordinator/model", []string{"rvol/drbd"}, "the words are used by everybody and use nobody"},
	{"rvol/coordinator/audit", []string{"rvol/coordinator/model", "rvol/coordinator/state"}, "the audit trail is written from the state's headers"},
	{"rvol/coordinator/decide", []string{"rvol/coordinator/model", "rvol/coordinator/inventory", "rvol/drbd"}, "decisions are pure functions of plain values"},
	{"rvol/coordinator/state", []string{"rvol/coordinator/model"}, "memory knows no Raft library and decides nothing"},
	{"rvol/coordinator/inventory", []string{"rvol/coordinator/model", "rvol/drbd"}, "what was seen decides nothing"},
	{"rvol/coordinator/consensus", []string{"rvol/coordinator/model", "rvol/coordinator/state"}, "Raft and nothing else"},
	{"rvol/coordinator/control", []string{"rvol/coordinator/model", "rvol/coordinator/state", "rvol/coordinator/inventory", "rvol/coordinator/decide", "rvol/drbd"}, "the loop asks for a Proposer, not for Raft"},
	{"rvol/coordinator/serve", []string{"rvol/coordinator/model", "rvol/coordinator/state", "rvol/coordinator/inventory", "rvol/coordinator/audit", "rvol/coordinator/decide", "rvol/coordinator/control", "rvol/drbd", "rvol/proto"}, "the doors never import consensus"},
	{"rvol/coordinator/serve/web", []string{"rvol/proto"}, "the dashboard is a client of the admin API"},
	{"rvol/coordinator", []string{"rvol/drbd", "rvol/proto"}, "agent and coordinator meet only in proto"},

	{"rvol/packaging", nil, "files that programs carry with them"},
	{"rvol/cmd/internal/cli", []string{"rvol/proto", "rvol/coordinator/decide", "rvol/coordinator/model", "rvol/coordinator/state", "rvol/cmd/internal/version"}, "the command line is a client, with the offline planners and the reader of snapshots built in"},
	{"rvol/cmd", []string{"rvol"}, "only cmd sees both sides"},
}

// alone are the packages of other modules that only one folder may import.
var alone = map[string][]string{
	"os/exec":                          {"rvol/agent/host", "rvol/cmd/internal/lab", "rvol/cmd/internal/arch", "rvol/cmd/rvol-lab", "rvol/cmd/internal/browse"},
	"github.com/hashicorp/raft":        {"rvol/coordinator/consensus", "rvol/cmd/internal/lab", "rvol/coordinator"},
	"github.com/hashicorp/raft-boltdb": {"rvol/coordinator/consensus"},
	"github.com/prometheus":            {"rvol/proto/probe", "rvol/coordinator/serve/metrics", "rvol/agent/metrics"},
	"go.etcd.io/bbolt":                 {"rvol/coordinator/consensus"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Doc        string
	Dir        string
	GoFiles    []string
}

// packages lists the module's packages as the go command sees them.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Doc,Dir,GoFiles", "rvol/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// ruleFor returns the longest rule that covers path.
func ruleFor(path string) (rule, bool) {
	var best rule
	for _, r := range floors {
		if below(path, r.path) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

func TestImportsOnlyGoDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		r, ok := ruleFor(p.ImportPath)
		if !ok {
			t.Errorf("%s is on no floor: add it to the table", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "rvol/") && !allowed(r, imp) {
				t.Errorf("%s imports %s: %s", p.ImportPath, imp, r.why)
			}
		}
	}
}

func allowed(r rule, imp string) bool {
	if below(imp, r.path) {
		return true
	}
	for _, may := range r.may {
		if below(imp, may) {
			return true
		}
	}
	return false
}

func TestSomeImportsHaveOneHome(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for what, homes := range alone {
				if !below(imp, what) {
					continue
				}
				at := false
				for _, h := range homes {
					at = at || below(p.ImportPath, h)
				}
				if !at {
					t.Errorf("%s imports %s, which is for %s", p.ImportPath, imp, strings.Join(homes, ", "))
				}
			}
		}
	}
}

func TestAgentAndCoordinatorMeetOnlyInProto(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if below(p.ImportPath, "rvol/agent") && below(imp, "rvol/coordinator") ||
				below(p.ImportPath, "rvol/coordinator") && below(imp, "rvol/agent") {
				t.Errorf("%s imports %s", p.ImportPath, imp)
			}
		}
	}
}
