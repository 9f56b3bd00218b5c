package arbiter_test

import (
	"strings"
	"testing"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/model"
)

// asking is the copy on n1, whose attachment is granted, and the copy on n2.
func asking() arbiter.Input {
	vs := &model.VolumeStatus{Formed: true, DRBD: "8.4", Configuration: &model.Configuration{FTT: 1}}
	vs.Datamesh.Members = []model.DatameshMember{{ID: 0, Type: model.Diskful, Node: "n1"}, {ID: 1, Type: model.Diskful, Node: "n2"}}
	return arbiter.Input{
		Volume: &model.Volume{}, Status: vs, Replica: &model.Replica{ID: 0, Type: model.Diskful, Node: "n1"}, Primary: true,
		Attachments: []*model.Attachment{{Node: "n1", Granted: true}},
	}
}

func TestWhoMayGoOnAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says   string
		change func(*arbiter.Input)
		want   string // part of the refusal; "": granted
	}{
		{"a Primary that nobody was before", func(*arbiter.Input) {}, ""},
		{"a Secondary that is to become Primary", func(in *arbiter.Input) { in.Primary = false }, ""},
		{"once more", func(in *arbiter.Input) { in.Status.GoesAlone(0) }, ""},
		{"the other one does", func(in *arbiter.Input) { in.Status.GoesAlone(1) }, "replica 1 goes on alone"},
		{"two copies are guaranteed", func(in *arbiter.Input) { in.Status.Configuration.GMDR = 1 }, "GMDR 1"},
		{"the node is fenced", func(in *arbiter.Input) { in.Fenced = true }, "fenced"},
		{"nobody uses it there", func(in *arbiter.Input) { in.Attachments = nil }, "no granted attachment"},
		{"its use is not granted", func(in *arbiter.Input) { in.Attachments[0].Granted = false }, "no granted attachment"},
		{"its use is ending", func(in *arbiter.Input) {
			in.Attachments[0].DeletingSince = in.Attachments[0].CreatedAt.AddDate(1, 0, 0)
		}, ""},
		{"a Secondary while the other may be Primary", func(in *arbiter.Input) {
			in.Primary, in.Attachments = false, append(in.Attachments, &model.Attachment{Node: "n2", Granted: true})
		}, "rvol node fence n2"},
		{"one of two Primaries", func(in *arbiter.Input) {
			in.Attachments = append(in.Attachments, &model.Attachment{Node: "n2", Granted: true})
		}, ""},
		{"no member", func(in *arbiter.Input) { in.Replica.ID = 5 }, "not one of two copies"},
		{"DRBD 9", func(in *arbiter.Input) { in.Status.DRBD = "9" }, "not one of two copies"},
		{"not formed", func(in *arbiter.Input) { in.Status.Formed = false }, "not one of two copies"},
		{"restored", func(in *arbiter.Input) { in.Reconciling = true }, "reconcile"},
		{"stopped", func(in *arbiter.Input) { in.Volume.Stopped = true }, "not to be used"},
	} {
		in := asking()
		c.change(&in)
		if got := arbiter.Refuse(in); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.says, got, c.want)
		}
	}
}
