package steps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shownElsewhere are the guards whose harm has a test of its own, or cannot be seen here.
func shownElsewhere() map[string]string {
	return map[string]string{
		"copyIsLeft":   "TestTheLastCopyIsNotGivenUp",
		"diskNotInUse": "it is notInUse, but for a disk that DRBD has let go of",
		"isLost": "TestQuorumWhileOneIsLost in coordinator/decide/transition counts the votes of a copy that is forgotten " +
			"while it is alive; TestALostCopyComesBack lets it come back",
		"resyncSlots": "it keeps disks from being slow, not copies from being lost: simulated disks have no bandwidth to share; " +
			"TestResyncsWaitTheirTurn in coordinator/decide/transition shows that they wait",
	}
}

// TestEveryGuardHasItsHarm: a guard that protects from nothing that can be shown only makes
// people wait.
func TestEveryGuardHasItsHarm(t *testing.T) {
	reasons := shownElsewhere()
	var shown []string
	for _, h := range harms() {
		if reasons[h.guard] != "" || slices.Contains(shown, h.guard) {
			t.Errorf("the harm of %s is there twice", h.guard)
		}
		shown = append(shown, h.guard)
	}
	for guard := range reasons {
		shown = append(shown, guard)
	}
	slices.Sort(shown)
	guards := guardsOfPlans(t)
	for _, guard := range guards {
		if !slices.Contains(shown, guard) {
			t.Errorf("nobody shows what guard %s protects from", guard)
		}
	}
	for _, guard := range shown {
		if !slices.Contains(guards, guard) {
			t.Errorf("no step of any plan has the guard %s", guard)
		}
	}
}

// guardsOfPlans are the names in the lists of guards in the plans' source.
func guardsOfPlans(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../../coordinator/decide/transition/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok && isNamed(kv.Key, "guards") {
				names = append(names, listed(t, file, kv.Value)...)
			}
			return true
		})
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 10 {
		t.Fatalf("found %q alone", names)
	}
	return names
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// listed are the names in a list.
func listed(t *testing.T, file string, e ast.Expr) (names []string) {
	t.Helper()
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		t.Fatalf("%s: guards that are no list", file)
	}
	for _, elt := range list.Elts {
		id, ok := elt.(*ast.Ident)
		if !ok {
			t.Fatalf("%s: a guard without a name", file)
		}
		names = append(names, id.Name)
	}
	return names
}
