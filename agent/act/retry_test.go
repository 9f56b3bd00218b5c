package act

import (
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/decide"
)

func TestADefiniteRefusalIsTriedAgainLessAndLessAndThenGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{}
		want := []time.Duration{5, 10, 20, 40, 80, 120, 120, 120, 120, 120} // seconds
		for i, w := range want {
			k.refuse()
			wait := time.Until(k.after)
			if most := w * time.Second; wait > most || wait < most*4/5 {
				t.Errorf("after refusal %d it waits for %s, want %s less up to a fifth", i+1, wait, most)
			}
			if last := i == len(want)-1; k.dirty == last || k.failedForGood() != last {
				t.Errorf("after refusal %d: dirty %v, given up %v", i+1, k.dirty, k.failedForGood())
			}
		}
	})
}

func TestOnlyDefiniteRefusalsCount(t *testing.T) {
	t.Parallel()
	definite := decide.Plan{States: []decide.ReplicaState{{Error: "foreign", Definite: true}}}
	passing := decide.Plan{States: []decide.ReplicaState{{Error: "no module"}}}
	for _, tc := range []struct {
		name   string
		plan   decide.Plan
		failed *decide.Refusal
		want   bool
	}{
		{"all is well", decide.Plan{}, nil, false},
		{"a plan that is refused for good", definite, nil, true},
		{"a plan that waits", passing, nil, false},
		{"a step that is refused for good", passing, &decide.Refusal{Definite: true}, true},
		{"a step that hung", definite, &decide.Refusal{Class: decide.Stuck}, false},
	} {
		if got := definitely(tc.plan, tc.failed); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
