package kernel

import (
	"strings"
	"testing"

	"rvol/cmd/internal/lab"
)

func TestALabThatCannotBeIsRefusedBeforeAnythingStarts(t *testing.T) {
	for _, c := range []struct {
		want string
		cfg  lab.Config
	}{
		{"plan a lab of 0 nodes", lab.Config{}},
		{"plan a lab of 65 nodes", lab.Config{Nodes: 65}},
		{"plan a lab of 3 networks", lab.Config{Nodes: 1, Networks: 3}},
		{"plan nodes with 7 data disks", lab.Config{Nodes: 1, Disks: 7}},
		{"plan data disks of 5 bytes", lab.Config{Nodes: 1, DiskSize: 5}},
		{"plan nodes with 64 MiB of memory", lab.Config{Nodes: 1, Memory: 64 << 20}},
	} {
		if _, err := New(c.cfg, "rvol-lab"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, wanted %s", err, c.want)
		}
	}
}

func TestNodesAndFaultsThatAreNotThereAreNamed(t *testing.T) {
	w, err := New(lab.Config{Nodes: 2}, "rvol-lab")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, exec := w.Exec(ctx, "n3", lab.Command{Argv: []string{"true"}})
	_, off := w.Exec(ctx, "n1", lab.Command{Argv: []string{"true"}})
	for _, c := range []struct {
		err  error
		want string
	}{
		{exec, "find node n3: this lab has n1 to n2"},
		{off, "n1: the node is off: rvol-lab start n1 boots it"},
		{w.Kill(ctx, "n1"), "the node is off"},
		{w.Disturb(ctx, lab.Fault{A: "n1", B: "n2", Network: 2}), "disturb network 2: this lab has 1"},
		{w.Disturb(ctx, lab.Fault{A: "n1", B: "n2", Drop: 101}), "from 0 to 100"},
		{w.Push(ctx, "n1", "/etc/passwd", "relative"), "not an absolute path"},
		{w.Push(ctx, "n1", "/no/such/file", "/x"), "no such file"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, wanted %s", c.err, c.want)
		}
	}
}
