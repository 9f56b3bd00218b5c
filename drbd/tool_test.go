package drbd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// everyVerb calls each method once.
func everyVerb(ctx context.Context, tool *drbd.Tool) []struct {
	name string
	err  error
} {
	r := drbd.Ref{Name: "db-1", File: "/etc/drbd.d/rvol/db-1.res", Minors: []drbd.Minor{10000, 10001}}
	alone := r
	alone.Alone = true
	d := drbd.MetaDev{Minor: 10000, Disk: "/dev/vg0/rvol-db-1.0.2"}
	result := func(_ any, err error) error { return err }
	return []struct {
		name string
		err  error
	}{
		{"Check", tool.Check(ctx, r)},
		{"CreateMD", tool.CreateMD(ctx, d, drbd.MaxPeers)},
		{"DumpMD", result(tool.DumpMD(ctx, d))},
		{"WriteDevUUID", tool.WriteDevUUID(ctx, d, 0xDADCD05BC26C38A9)},
		{"ReadDevUUID", result(tool.ReadDevUUID(ctx, d))},
		{"CheckResize", tool.CheckResize(ctx, d)},
		{"WipeMD", tool.WipeMD(ctx, d)},
		{"Up", tool.Up(ctx, r)},
		{"Up alone", tool.Up(ctx, alone)},
		{"Adjust", tool.Adjust(ctx, r)},
		{"Adjust alone", tool.Adjust(ctx, alone)},
		{"DryAdjust", result(tool.DryAdjust(ctx, r))},
		{"DryAdjust alone", result(tool.DryAdjust(ctx, alone))},
		{"Attach", tool.Attach(ctx, r, 1)},
		{"Detach", tool.Detach(ctx, 10000)},
		{"Connect", tool.Connect(ctx, r, 2)},
		{"ConnectDiscarding", tool.ConnectDiscarding(ctx, r, 2)},
		{"Disconnect", tool.Disconnect(ctx, r, 2)},
		{"DelPeer", tool.DelPeer(ctx, r, 2)},
		{"ForgetPeer", tool.ForgetPeer(ctx, "db-1", 2)},
		{"Generations", result(tool.Generations(ctx, r, 2, 1))},
		{"NewCurrentUUID skip", tool.NewCurrentUUID(ctx, 10000, drbd.SkipInitialSync)},
		{"NewCurrentUUID full", tool.NewCurrentUUID(ctx, 10000, drbd.FullInitialSync)},
		{"Primary", tool.Primary(ctx, r)},
		{"ForcePrimary", tool.ForcePrimary(ctx, r)},
		{"NewGeneration", tool.NewGeneration(ctx, 10000)},
		{"Secondary", tool.Secondary(ctx, r)},
		{"Resize", tool.Resize(ctx, 10000)},
		{"ResizeAlone", tool.ResizeAlone(ctx, 10000)},
		{"HoldSize", tool.HoldSize(ctx, 10000, 1<<30)},
		{"ResumeIO", tool.ResumeIO(ctx, 10000)},
		{"TellPeer", tool.TellPeer(ctx, 10000)},
		{"Verify", tool.Verify(ctx, r, 2, 1)},
		{"Invalidate", tool.Invalidate(ctx, 10000)},
		{"RepairFrom", tool.RepairFrom(ctx, 10000, 2)},
		{"Status", result(tool.Status(ctx, "db-1"))},
		{"StatusAll", result(tool.StatusAll(ctx))},
		{"Down", tool.Down(ctx, "db-1")},
	}
}

// TestCommandLines keeps the command line of every verb for both versions.
// What the tool prints here is nothing, which some verbs cannot read.
func TestCommandLines(t *testing.T) {
	for version, name := range map[drbd.Version]string{drbdtest.V84: "8.4", drbdtest.V9: "9"} {
		var ran []string
		tool := drbd.New(answers(recording{}, &ran), version)
		for _, verb := range everyVerb(t.Context(), tool) {
			if verb.err == nil || errors.Is(verb.err, drbd.ErrGarbage) || strings.HasPrefix(verb.err.Error(), "parse ") {
				continue
			}
			ran = append(ran, fmt.Sprintf("# %s: %v", verb.name, verb.err))
		}
		golden(t, "golden/argv-"+name+".txt", strings.Join(ran, "\n")+"\n")
	}
}

func TestDownOfWhatIsNotUp(t *testing.T) {
	var ran []string
	tool := drbd.New(answers(record(t, "9.3.3/157-"), &ran), drbdtest.V9)
	if err := tool.Down(t.Context(), "nosuch"); err != nil {
		t.Error(err)
	}
}

func TestDelPeerOnDRBD84IsDoneWhenGone(t *testing.T) {
	var ran []string
	tool := drbd.New(answers(record(t, "8.4.11/089-"), &ran), drbdtest.V84)
	if err := tool.DelPeer(t.Context(), drbd.Ref{Name: "r0", File: "/r0.res"}, 1); err != nil {
		t.Error(err)
	}
}

// Text that is not a name or a path must not reach a command line.
func TestInvalidTextRunsNothing(t *testing.T) {
	var ran []string
	for _, version := range []drbd.Version{drbdtest.V84, drbdtest.V9} {
		tool := drbd.New(answers(recording{}, &ran), version)
		for _, bad := range []string{"", "all", "-d", "--force", "a b", "a\nb", "a;b", "a{", `a"`, "a/0", "é", strings.Repeat("a", 200)} {
			r := drbd.Ref{Name: bad, File: "/r0.res"}
			errs := []error{
				tool.Up(t.Context(), r), tool.Down(t.Context(), bad), tool.Connect(t.Context(), r, 1),
				tool.Check(t.Context(), drbd.Ref{Name: "r0", File: bad}), tool.CreateMD(t.Context(), drbd.MetaDev{Disk: bad}, 7),
			}
			if _, err := tool.Status(t.Context(), bad); true {
				errs = append(errs, err)
			}
			for i, err := range errs {
				if !errors.Is(err, drbd.ErrInvalid) {
					t.Errorf("%q, case %d: got %v", bad, i, err)
				}
			}
		}
	}
	if len(ran) > 0 {
		t.Errorf("ran %q", ran)
	}
}

func TestVerifyOf84NeedsTheDevice(t *testing.T) {
	var ran []string
	tool := drbd.New(answers(recording{}, &ran), drbdtest.V84)
	if err := tool.Verify(t.Context(), drbd.Ref{Name: "r0"}, 1, 0); !errors.Is(err, drbd.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if err := tool.RepairFrom(t.Context(), 0, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
