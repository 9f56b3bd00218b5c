package serve

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"rvol/coordinator/serve/door"
	"rvol/proto/identity"
)

var update = flag.Bool("update", false, "write the golden files")

// methods lists every call of the two APIs, and of the health service.
func methods() []string {
	var out []string
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !slices.Contains([]protoreflect.FullName{"rvol.admin.v1", "rvol.agent.v1", "grpc.health.v1"}, file.Package()) {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				out = append(out, fmt.Sprintf("/%s/%s", service.FullName(), service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	slices.Sort(out)
	return out
}

func TestEveryCallHasARowAndEveryRowACall(t *testing.T) {
	var rows []string
	for m := range rules {
		rows = append(rows, m)
	}
	slices.Sort(rows)
	if diff := cmp.Diff(methods(), rows); diff != "" {
		t.Errorf("calls (-) against rows (+):\n%s", diff)
	}
}

// TestWhoMayCallWhat shows the whole table: which roles may make a call, and where it is
// carried out. Read a change of the golden file as carefully as one of the code.
func TestWhoMayCallWhat(t *testing.T) {
	roles := []identity.Role{identity.Viewer, identity.Operator, identity.Admin, identity.Agent, identity.Server, ""}
	var b strings.Builder
	for _, m := range methods() {
		var may []string
		var by rule
		for _, role := range roles {
			c := door.Caller{}
			if role != "" {
				c.ID = identity.ID{Cluster: "test", Role: role, Name: "x"}
			}
			r, err := authorize(m, c)
			if err != nil {
				continue
			}
			name := string(role)
			if role == "" {
				name = "stranger"
			}
			may, by = append(may, name), r
		}
		places := [...]string{leader: "leader", anywhere: "anywhere", here: "here"}
		fmt.Fprintf(&b, "%-44s %-9s %s\n", strings.TrimPrefix(strings.TrimPrefix(m, "/"), "rvol."), places[by.where], strings.Join(may, " "))
	}
	if *update {
		if err := os.WriteFile("testdata/roles.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/roles.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestACallWithoutARowIsRefused(t *testing.T) {
	if _, err := authorize("/rvol.admin.v1.Nodes/Explode", door.Caller{ID: identity.ID{Role: identity.Admin}}); err == nil {
		t.Error("an admin may make a call that nobody thought of")
	}
}
