package scheduling

import "testing"

func TestTheListOfRules(t *testing.T) {
	if len(rules) > maxRules {
		t.Errorf("%d rules, more than %d cannot be told apart", len(rules), maxRules)
	}
	labels := map[string]bool{noCapacity: true, unknownCapacity: true}
	marking := false
	for _, r := range rules {
		if r.says == "" || labels[r.says] {
			t.Errorf("the label %q is empty or taken", r.says)
		}
		labels[r.says] = true
		if alone := r.node != nil || r.lvg != nil; alone == (r.mark != nil) {
			t.Errorf("%s: looks at a node or an LVG alone, or marks, not both", r.says)
		} else if alone && marking {
			t.Errorf("%s: looks at a node or an LVG alone, and must stand before the rules that mark", r.says)
		}
		marking = marking || r.mark != nil
	}
}

func TestTheListOfScores(t *testing.T) {
	s := (&run{Candidates: Prepare(nil), in: &Input{}}).newStepFor(Replica{Type: Diskful})
	for _, f := range scores {
		if f.says == "" || f.when == nil || (f.nodes == nil) == (f.zones == nil) {
			t.Errorf("%q: a score has a label, says when it counts, and adds to nodes or to zones", f.says)
		}
		if f.zones != nil && f.most != 0 {
			t.Errorf("%s: most is of nodes", f.says)
		}
		for lvgs := range 4 {
			s.wanted = []int{lvgs}
			if f.nodes != nil && f.nodes(s, group{node: lvgs, lvgs: lvgs}) > f.most {
				t.Errorf("%s: gives more than %d", f.says, f.most)
			}
		}
	}
}
