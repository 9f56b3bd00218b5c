package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) replicaAdd() *cobra.Command {
	r, to, wait := &adminv1.AddReplicaRequest{}, "", false
	c := &cobra.Command{
		Use: "add VOLUME", Short: "Give a volume another replica",
		Long: "Give a volume another replica: a copy, where it has fewer than its class asks for or more are wanted; or one without " +
			"a copy, which votes (TieBreaker) or lets its node use the volume (Access).",
		Args: args("VOLUME"), ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			r.Volume = args[0]
			if r.To, err = parsePlace(to); err != nil {
				return err
			}
			begun, err := adminv1.NewReplicasClient(a.client).Add(ctx, r)
			return a.begun(ctx, begun, err, wait)
		}),
	}
	c.Flags().StringVar(&r.Type, "type", "Diskful", "`TYPE`: Diskful, TieBreaker or Access")
	a.toFlag(c, &to)
	waitFlag(c, &wait, "it is there, and a copy is UpToDate")
	return c
}

func (a *app) replicaMove() *cobra.Command {
	r, to, wait := &adminv1.MoveReplicaRequest{}, "", false
	c := &cobra.Command{
		Use: "move VOLUME/ID", Short: "Put a copy of a volume elsewhere, while it is in use",
		Long: "Put a copy of a volume elsewhere, while it is in use. A new copy is made and filled; then the old one is removed. " +
			"DRBD 8.4 connects two copies: there the old one leaves before the new one is filled, which has to be accepted.",
		Args: args("VOLUME/ID"), ValidArgsFunction: a.completeEach("replica"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			r.Name = args[0]
			if r.To, err = parsePlace(to); err != nil {
				return err
			}
			begun, err := adminv1.NewReplicasClient(a.client).Move(ctx, r)
			return a.begun(ctx, begun, err, wait)
		}),
	}
	c.Flags().BoolVar(&r.AcceptSingleCopy, "accept-single-copy", false, "on DRBD 8.4: go on with one copy until the new one is filled")
	a.toFlag(c, &to)
	waitFlag(c, &wait, "the new copy is UpToDate and the old one gone")
	return c
}

func (a *app) replicaSet() *cobra.Command {
	r, to, wait := &adminv1.RetypeReplicaRequest{}, "", false
	c := &cobra.Command{
		Use: "set VOLUME/ID", Short: "Make a replica one of another type, where it is",
		Long: "Make a replica one of another type, where it is: an access replica or a tie-breaker becomes a copy, or a copy that the " +
			"volume's class does not ask for becomes one of them.",
		Args: args("VOLUME/ID"), ValidArgsFunction: a.completeEach("replica"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if r.Name = args[0]; r.GetType() == "" {
				return usage("replica set %s: give its --type", r.GetName())
			}
			if r.To, err = parsePlace(to); err != nil {
				return err
			}
			begun, err := adminv1.NewReplicasClient(a.client).Retype(ctx, r)
			return a.begun(ctx, begun, err, wait)
		}),
	}
	c.Flags().StringVar(&r.Type, "type", "", "`TYPE`: Diskful, TieBreaker or Access")
	a.toFlag(c, &to)
	waitFlag(c, &wait, "it is that, and a copy is UpToDate")
	return c
}

func (a *app) replicaRemove() *cobra.Command {
	r, wait := &adminv1.RemoveReplicaRequest{}, false
	sure := consent{app: a}
	c := &cobra.Command{
		Use: "remove VOLUME/ID", Aliases: []string{"rm"}, Short: "Take a replica away that the volume's class does not ask for",
		Long: "Take a replica away that the volume's class does not ask for. With --force, give one up whose node is fenced: " +
			"nobody waits for it, and what is under way about it ends.",
		Args: args("VOLUME/ID"), ValidArgsFunction: a.completeEach("replica"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			r.Name = args[0]
			if r.GetForce() {
				if err := sure.ask(c, args[0], "gives the replica up with what it alone holds"); err != nil {
					return err
				}
				r.Confirm = args[0]
			}
			begun, err := adminv1.NewReplicasClient(a.client).Remove(ctx, r)
			return a.begun(ctx, begun, err, wait)
		}),
	}
	c.Flags().BoolVar(&r.Force, "force", false, "its node is fenced: wait for nobody")
	sure.nameFlag(c)
	waitFlag(c, &wait, "the others go on without it")
	return c
}

func (a *app) toFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "to", "", "`NODE[/LVG[/THINPOOL]]` where it is to be; what is not said is chosen")
	complete(c, "to", a.completeNames("node"))
}

// parsePlace reads NODE[/LVG[/THINPOOL]].
func parsePlace(s string) (*adminv1.Place, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if p == "" || len(parts) > 3 {
			return nil, usage("--to %s: want NODE, NODE/LVG or NODE/LVG/THINPOOL", s)
		}
	}
	parts = append(parts, "", "")
	return &adminv1.Place{Node: parts[0], Vg: parts[1], ThinPool: parts[2]}, nil
}

// begun says what has begun, or waits until it is done.
func (a *app) begun(ctx context.Context, b *adminv1.TransitionBegun, err error, wait bool) error {
	if err != nil {
		return err
	}
	name, t := b.GetVolume().GetMeta().GetName(), b.GetTransition()
	if t == nil { // over already, or there was nothing to do
		return a.changed("volume", name, b.GetVolume(), "is that way already")
	}
	if !wait {
		return a.changed("volume", name, b.GetVolume(), "begins to %s; `rvol volume show %s` tells how far it is", t.GetTitle(), name)
	}
	n, abort := a.volumes(), ""
	err = a.wait(ctx, wish{kind: n.kind, name: name, kinds: n.reads, look: func(ctx context.Context) (stage, error) {
		return appears(n, name, func(v *adminv1.Volume) stage {
			s := passing(v, t)
			if s.failed != "" {
				abort = s.failed
			}
			s.failed = ""
			return s
		})(ctx)
	}})
	if err == nil && abort != "" {
		err = &failure{code: exitFailed, what: fmt.Sprintf("volume %s: %s: given up: %s", name, t.GetTitle(), abort)}
	}
	if err != nil {
		return err
	}
	v, _, err := n.one(ctx, name)
	if err != nil {
		return err
	}
	return a.changed("volume", name, v, "has finished to %s", t.GetTitle())
}

// passing says how far a transition has come.
func passing(v *adminv1.Volume, begun *adminv1.Transition) stage {
	for _, t := range v.GetTransitions() {
		if t.GetPlan() != begun.GetPlan() || !t.GetStartedAt().AsTime().Equal(begun.GetStartedAt().AsTime()) {
			continue
		}
		s := stage{phase: t.GetTitle(), failed: t.GetAbort(), sync: leastSync(v)}
		for _, step := range t.GetSteps() {
			if step.GetStatus() != "Completed" {
				s.phase, s.waiting = step.GetName(), step.GetMessage()
				return s
			}
			s.passed = append(s.passed, passed{step.GetName(), took(step)})
		}
		return s
	}
	return stage{done: true}
}
