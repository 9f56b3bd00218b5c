package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeResolve() *cobra.Command {
	r, keep, ok := &adminv1.ResolveVolumeRequest{}, int32(0), consent{app: a}
	c := &cobra.Command{
		Use: "resolve NAME", Short: "End a split brain: keep one copy, the others take what it has",
		Long: `Tell what each copy of a volume says of itself; with --keep, end a split brain: the copies that were written apart from the
one that is kept give up what they were written since, and take what it has. Nothing else of them is copied. A copy that is in
use is never given up. What a filesystem on such a copy held is gone with it: copy what is needed first.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			r.Name, r.Keep = args[0], given(c, "keep", keep)
			before, err := adminv1.NewVolumesClient(a.client).Resolve(ctx, r)
			if err == nil {
				err = a.tellSides(before)
			}
			if err != nil || r.Keep == nil {
				return err
			}
			if err := ok.ask(c, r.GetName(), "gives up for good what the other copies alone hold"); err != nil {
				return err
			}
			r.Confirm = r.GetName()
			after, err := adminv1.NewVolumesClient(a.client).Resolve(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("volume", r.GetName(), after.GetVolume(), "keeps replica %d; the others take what it has", keep)
		}),
	}
	c.Flags().Int32Var(&keep, "keep", 0, "`ID` of the copy to keep")
	ok.nameFlag(c)
	return c
}

func (a *app) volumeRecover() *cobra.Command {
	r, ok := &adminv1.RecoverVolumeRequest{}, consent{app: a}
	c := &cobra.Command{
		Use: "recover NAME --from ID", Short: "Go on with a copy that is not good, when the better ones are gone for good",
		Long: `Take a copy as UpToDate that is not by its own account, because every better one is gone for good: the nodes of those that do
not report have to be fenced or lost first. It is told what is lost; the copy is what everybody gets from then on. Of those that
are gone, give each up afterwards: rvol replica remove NAME/ID --force. Should one come back nevertheless, DRBD does not connect
it, and rvol volume resolve tells what each has.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if r.Name = args[0]; !c.Flags().Changed("from") {
				return usage("volume recover %s: say which copy to go on with: --from ID", r.GetName())
			}
			before, err := adminv1.NewVolumesClient(a.client).Recover(ctx, r)
			if err == nil {
				err = a.tellSides(before)
			}
			if err != nil {
				return err
			}
			if err := ok.ask(c, r.GetName(), "takes old data as good, and loses what only others had"); err != nil {
				return err
			}
			r.Confirm = r.GetName()
			after, err := adminv1.NewVolumesClient(a.client).Recover(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("volume", r.GetName(), after.GetVolume(), "goes on with replica %d", r.GetFrom())
		}),
	}
	c.Flags().Int32Var(&r.From, "from", 0, "`ID` of the copy to go on with")
	ok.nameFlag(c)
	return c
}

// tellSides writes what each copy says of itself, and what would be lost.
func (a *app) tellSides(b *adminv1.BrokenVolume) error {
	if a.flags.structured() {
		return nil // the answer has it
	}
	t := table{heads: []string{"REPLICA", "NODE", "DISK", "ROLE", "USED", "APART FROM", "FOR", "OTHER LACKS", "GENERATIONS"}}
	for _, s := range b.GetSides() {
		base := []string{number(s.GetId()), s.GetNode(), s.GetDisk(), s.GetRole(), dash(s.GetUsed())}
		if len(s.GetApart()) == 0 {
			t.rows = append(t.rows, append(base, "-", "-", "-", dash(s.GetMessage())))
		}
		for _, from := range s.GetApart() {
			what := number(from.GetId())
			if from.GetSplit() {
				what += " (both written)"
			}
			t.rows = append(t.rows, append(base[:5:5], what, a.age(from.GetSince()), humanSize(from.GetOutOfSync()), dash(strings.Join(s.GetGenerations(), " "))))
		}
	}
	if err := t.write(a.env.Stdout); err != nil {
		return err
	}
	for _, l := range b.GetLost() {
		a.note("Lost: %s.", l)
	}
	return nil
}

func (a *app) volumeVerify() *cobra.Command {
	r, from, wait := &adminv1.VerifyVolumeRequest{}, int32(0), false
	c := &cobra.Command{
		Use: "verify NAME", Short: "Compare the copies of a volume, and mend what differs",
		Long: `Compare all copies of a volume with one of them, block by block, while it is in use: with the one that is in use, or else the
first, or the one that is named. With --repair, what differs is copied from that one to the others; when nobody uses the volume,
which one is right has to be said. The volume's condition Verified tells what was found, and when.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			r.Name, r.From = args[0], given(c, "from", from)
			v, err := adminv1.NewVolumesClient(a.client).Verify(ctx, r)
			if err != nil {
				return err
			}
			if !wait {
				return a.changed("volume", r.GetName(), v, "is being compared with replica %d; `rvol volume show %s` tells how far it is",
					v.GetVerification().GetSource(), r.GetName())
			}
			return a.verified(ctx, v)
		}),
	}
	c.Flags().BoolVar(&r.Repair, "repair", false, "copy what differs")
	c.Flags().Int32Var(&from, "from", 0, "`ID` of the copy to compare with, and to copy from")
	waitFlag(c, &wait, "all is compared, and mended")
	return c
}

// verified waits for the end of a verification, and fails when something differs or was not compared.
func (a *app) verified(ctx context.Context, begun *adminv1.Volume) error {
	n, name, last := a.volumes(), begun.GetMeta().GetName(), begun
	started := begun.GetVerification().GetStartedAt().AsTime()
	err := a.wait(ctx, wish{kind: n.kind, name: name, kinds: n.reads, look: func(ctx context.Context) (stage, error) {
		return appears(n, name, func(v *adminv1.Volume) stage {
			last = v
			now := v.GetVerification()
			over := now.GetPhase() == "Done" || !now.GetStartedAt().AsTime().Equal(started)
			return stage{done: over, phase: now.GetPhase(), waiting: verifying(now)}
		})(ctx)
	}})
	if err != nil {
		return err
	}
	c := condition(last.GetConditions(), "Verified")
	if c.GetStatus() != "True" {
		return &failure{code: exitFailed, what: fmt.Sprintf("volume %s: %s: %s", name, c.GetReason(), c.GetMessage())}
	}
	text := "all copies are the same"
	if c.GetMessage() != "" {
		text += ": " + c.GetMessage()
	}
	return a.changed("volume", name, last, "%s", text)
}

// verifying says what is being compared or copied now.
func verifying(v *adminv1.Verification) string {
	for _, c := range v.GetCopies() {
		switch {
		case c.GetMessage() != "":
		case !c.GetCompared():
			return strings.TrimSuffix(fmt.Sprintf("replica %d with %d%s, %s", c.GetId(), v.GetSource(), sofar(c), v.GetMessage()), ", ")
		case v.GetPhase() == "Repairing" && c.GetOutOfSync() > 0 && !c.GetRepaired():
			return fmt.Sprintf("%s from replica %d to %d%s", humanSize(c.GetOutOfSync()), v.GetSource(), c.GetId(), sofar(c))
		}
	}
	return v.GetMessage()
}

// sofar is how much of what is being done with a copy is done; empty when that is not told.
func sofar(c *adminv1.VerifiedCopy) string {
	if c.Percent == nil {
		return ""
	}
	return ", " + percent(c.GetPercent())
}

// verification is how the newest comparison of copies went.
func (a *app) verification(v *adminv1.Verification) section {
	t := table{heads: []string{"REPLICA", "COMPARED WITH", "DIFFERS IN", "NOW", "MESSAGE"}}
	for _, c := range v.GetCopies() {
		differs, now := "-", "waits"
		switch {
		case c.GetMessage() != "":
			now = "not done"
		case c.GetRepaired():
			now = "mended"
		case c.Percent != nil:
			now = strings.ToLower(v.GetPhase()) + sofar(c)
		case c.GetCompared() && c.GetOutOfSync() > 0:
			now = "differs"
		case c.GetCompared():
			now = "the same"
		case v.GetPhase() != "Done":
			now = strings.ToLower(v.GetPhase())
		}
		if c.GetCompared() {
			differs = humanSize(c.GetOutOfSync())
		}
		t.rows = append(t.rows, []string{number(c.GetId()), number(v.GetSource()), differs, now, dash(c.GetMessage())})
	}
	title := fmt.Sprintf("Verification, begun %s ago", a.age(v.GetStartedAt()))
	if v.GetEndedAt() != nil {
		title = fmt.Sprintf("Verification, ended %s ago", a.age(v.GetEndedAt()))
	}
	if v.GetMessage() != "" {
		title += ": " + v.GetMessage()
	}
	return section{title, t}
}
