package model

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsThisBinaryDoesNotKnowAreKept(t *testing.T) {
	t.Parallel()
	in := `{"name":"db-1","devices":[{"number":0,"size":4096}],"class":"r2","max_attachments":1,"later":{"x":[1,2]},"created_at":"2026-01-01T00:00:00Z"}`
	o, err := Decode(KindVolume, []byte(in), 7)
	if err != nil {
		t.Fatal(err)
	}
	v := Clone(o.(*Volume))
	v.Class = "r3"
	out, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got["class"] != "r3" || !cmp.Equal(got["later"], map[string]any{"x": []any{1.0, 2.0}}) {
		t.Errorf("wrote %s", out)
	}
	if v.Revision != 7 {
		t.Errorf("a clone is at revision %d, want the original's 7", v.Revision)
	}
}

func TestNestedUnknownFieldsAreKept(t *testing.T) {
	t.Parallel()
	in := `{"name":"n1","ready":true,"reason":"","updated_by":"","updated_at":"2026-01-01T00:00:00Z","epoch":1,"host_name":"n1","capabilities":{"drbd":"9","rdma":true}}`
	o, err := Decode(KindNodeStatus, []byte(in), 1)
	if err != nil {
		t.Fatal(err)
	}
	st := Clone(o.(*NodeStatus))
	st.Capabilities.DRBD = "8.4"
	out, err := Encode(st)
	if err != nil || !strings.Contains(string(out), `"rdma":true`) || !strings.Contains(string(out), `"drbd":"8.4"`) {
		t.Errorf("wrote %s, %v", out, err)
	}
}

func TestAClearedFieldStaysCleared(t *testing.T) {
	t.Parallel()
	n := &Node{Zone: "a", Fenced: &Fence{By: "me"}}
	n.Name = "n1"
	b, err := Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Decode(KindNode, b, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := Clone(o.(*Node))
	c.Fenced, c.Zone = nil, ""
	if c = Clone(c); c.Fenced != nil || c.Zone != "" {
		t.Errorf("after clearing: %+v", c)
	}
}

func TestEveryKindDecodesWhatItEncodes(t *testing.T) {
	t.Parallel()
	for kind, make := range blank {
		o := make()
		o.Info().Name = "x/0"
		b, err := Encode(o)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		back, err := Decode(kind, b, 3)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if back.Info().Revision != 3 || back.Key().Kind != kind {
			t.Errorf("%s came back as %s at %d", kind, back.Key(), back.Info().Revision)
		}
	}
	if _, err := Decode("nonsense", []byte("{}"), 1); err == nil {
		t.Error("an unknown kind was decoded")
	}
}

func TestConditionsMoveTheirTimeOnlyWithTheirStatus(t *testing.T) {
	t.Parallel()
	t1, t2 := time.Unix(1, 0), time.Unix(2, 0)
	cs := Conditions{}.With(Condition{Type: "Ready", Status: False, Reason: "A"}, t1)
	cs = cs.With(Condition{Type: "Ready", Status: False, Reason: "B"}, t2)
	if c, _ := cs.Get("Ready"); c.Reason != "B" || !c.LastTransition.Equal(t1) {
		t.Errorf("same status, other reason: %+v", c)
	}
	cs = cs.With(Condition{Type: "Ready", Status: True}, t2)
	if c, _ := cs.Get("Ready"); !c.LastTransition.Equal(t2) {
		t.Errorf("other status: %+v", c)
	}
	if c, ok := cs.Get("Other"); ok || c.Status != Unknown {
		t.Errorf("a condition nobody set is %+v", c)
	}
	if got := cs.Without("Ready"); len(got) != 0 {
		t.Errorf("without: %v", got)
	}
}

func TestNamesAndSizes(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "db-1": true, strings.Repeat("a", 48): true, strings.Repeat("a", 49): false,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a/b": false, "a b": false, "ä": false,
	} {
		if err := CheckName("volume", name, MaxVolumeName); (err == nil) != ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("volume name %q: %v, want accepted=%v", name, err, ok)
		}
	}
	for size, want := range map[int64]int64{1: 4096, 4096: 4096, 4097: 8192, MaxSize: MaxSize, 0: 0, -1: 0, MaxSize + 1: 0} {
		if got, err := CheckSize(size); got != want || (err == nil) != (want != 0) {
			t.Errorf("size %d: %d, %v; want %d", size, got, err, want)
		}
	}
	for name, ok := range map[string]bool{"vg0": true, "VG_1.x+y": true, "-x": false, "a/b": false, "..": false, "": false} {
		if err := CheckLVMName("volume group", name); (err == nil) != ok {
			t.Errorf("LVM name %q: %v", name, err)
		}
	}
	if err := CheckLabels(map[string]string{"tier": "fast", "a/b": ""}); err != nil {
		t.Error(err)
	}
	if CheckLabels(map[string]string{"": "x"}) == nil || CheckLabels(map[string]string{"k": "a b"}) == nil {
		t.Error("a label that no selector could name was accepted")
	}
}

func TestReplicaNames(t *testing.T) {
	t.Parallel()
	if v, id, err := SplitReplicaName("db-1/31"); v != "db-1" || id != 31 || err != nil {
		t.Errorf("got %s, %d, %v", v, id, err)
	}
	for _, bad := range []string{"db-1", "db-1/32", "db-1/x", "/1", "db-1/-1"} {
		if _, _, err := SplitReplicaName(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestRefusalsAreTheirSentinels(t *testing.T) {
	t.Parallel()
	for want, refusals := range map[error][]Refusal{
		ErrConflict:  {{Constraint: ConstraintExpect, Asked: 3}, {Constraint: ConstraintReference}},
		ErrExists:    {{Constraint: ConstraintExpect}, {Constraint: ConstraintUnique}},
		ErrNoSpace:   {{Constraint: ConstraintCapacity}},
		ErrBusy:      {{Constraint: ConstraintSerial}},
		ErrForbidden: {{Constraint: ConstraintToken}, {Constraint: ConstraintFormed}},
		ErrInvalid:   {{Constraint: ConstraintRequest}, {Constraint: ConstraintDecode}, {Constraint: ConstraintFormat}},
	} {
		for _, r := range refusals {
			if !errors.Is(&r, want) {
				t.Errorf("%s is not %v", r.Constraint, want)
			}
		}
	}
	if !errors.Is(&NotLeaderError{}, ErrUnavailable) {
		t.Error("a coordinator that is not the leader is not unavailable")
	}
}
