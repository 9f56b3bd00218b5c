package membership_test

import (
	"strings"
	"testing"

	"rvol/coordinator/decide/membership"
)

// members reads "c1 c2! c3?": ! is dead, ? does not vote.
func members(text string) []membership.Member {
	var out []membership.Member
	for w := range strings.FieldsSeq(text) {
		out = append(out, membership.Member{
			Name: strings.TrimRight(w, "!?"), Voter: !strings.Contains(w, "?"), Alive: !strings.Contains(w, "!"),
		})
	}
	return out
}

func TestARemovalNeverTakesTheMajorityAway(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, members, remove string
		refused               bool
	}{
		{"the dead one of three", "c1 c2 c3!", "c3", false},
		{"a living one of three while another is dead", "c1 c2 c3!", "c2", true},
		{"a living one of three", "c1 c2 c3", "c2", false},
		{"one of two", "c1 c2", "c2", false},
		{"the dead one of two", "c1 c2!", "c2", false},
		{"a living one of five while two are dead", "c1 c2 c3 c4! c5!", "c3", true},
		{"a dead one of five while two are dead", "c1 c2 c3 c4! c5!", "c4", false},
		{"the only one", "c1", "c1", true},
		{"one that does not vote", "c1 c2 c3! c4?", "c4", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if why := membership.Refuse(members(tc.members), tc.remove); (why != "") != tc.refused {
				t.Errorf("refused %q, want refused %v", why, tc.refused)
			}
		})
	}
}

func TestTheDeadGoOnlyAboveAMinimum(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, members string
		minimum       int
		want          string
	}{
		{"three of which one is dead, three are wanted", "c1 c2 c3!", 3, ""},
		{"four of which one is dead", "c1 c2 c3 c4!", 3, "c4"},
		{"one after the other", "c1 c2 c3 c4! c5!", 3, "c4"},
		{"never the majority", "c1 c2 c3! c4! c5!", 1, ""},
		{"a dead one without a vote", "c1 c2 c3 c4!?", 3, "c4"},
		{"nobody is dead", "c1 c2 c3 c4", 3, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := membership.Dead(members(tc.members), tc.minimum); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
