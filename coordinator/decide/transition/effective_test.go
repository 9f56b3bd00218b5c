package transition_test

import (
	"testing"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

func TestWhatMayBeReliedOnNow(t *testing.T) {
	t.Parallel()
	down := func(ids ...int) func(*mesh) {
		return func(m *mesh) {
			for _, id := range ids {
				m.in.Members[id].Up = false
			}
		}
	}
	behind := func(id int) func(*mesh) {
		return func(m *mesh) { m.in.Members[id].Resource.Devices[0].Disk = drbd.Inconsistent }
	}
	for _, tc := range []struct {
		name      string
		ftt, gmdr int
		old       bool
		change    func(*mesh)
		want      [2]int
	}{
		{"three copies", 1, 1, false, nil, [2]int{1, 1}},
		{"one of three is down", 1, 1, false, down(0), [2]int{0, 1}},
		{"two of three are down", 1, 1, false, down(0, 1), [2]int{-1, 0}},
		{"one of three is being filled", 1, 1, false, behind(2), [2]int{0, 1}},
		{"two copies and a tie-breaker", 1, 0, false, nil, [2]int{1, 0}},
		{"without the tie-breaker", 1, 0, false, down(2), [2]int{0, 0}},
		{"five copies", 2, 2, false, nil, [2]int{2, 2}},
		{"one copy", 0, 0, false, nil, [2]int{0, 0}},
		{"DRBD 8.4: two copies, either may go on", 1, 0, true, nil, [2]int{1, 0}},
		{"DRBD 8.4: two copies, neither may go on alone", 0, 1, true, nil, [2]int{0, 1}},
	} {
		l := layout.Formula(tc.ftt, tc.gmdr)
		if tc.old {
			l, _ = layout.NewDRBD84(tc.ftt, tc.gmdr)
		}
		m := newMesh(t, l, tc.old)
		m.in.Status.Configuration = &model.Configuration{FTT: tc.ftt, GMDR: tc.gmdr}
		if tc.change != nil {
			tc.change(m)
		}
		if ftt, gmdr, known := transition.Effective(m.in); !known || [2]int{ftt, gmdr} != tc.want {
			t.Errorf("%s: %d and %d, want %v", tc.name, ftt, gmdr, tc.want)
		}
	}
	m := newMesh(t, layout.Formula(1, 1), false)
	m.in.Members[1].Known = false
	if _, _, known := transition.Effective(m.in); known {
		t.Error("known without a report")
	}
}
