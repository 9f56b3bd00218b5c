package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) attachmentCommand() *cobra.Command {
	n := a.attachments()
	return a.group("attachment", "Which volumes are in use where; see also `rvol volume attach`", n.listCommand(), n.showCommand())
}

func (a *app) attachments() noun[*adminv1.Attachment] {
	type attachment = *adminv1.Attachment
	return noun[attachment]{
		app: a, kind: "attachment", filters: []string{"node", "volume"},
		reads: []string{"attachment", "replica", "volume", "volume.status", "node"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]attachment, error) {
			r, err := adminv1.NewAttachmentsClient(a.client).List(ctx, q)
			return r.GetAttachments(), err
		},
		columns: []column[attachment]{
			{head: "NAME", cell: func(at attachment) string { return at.GetMeta().GetName() }},
			{head: "STATE", cell: attachmentState},
			{head: "DEVICE", cell: attachment.GetDevice},
			{head: "AGE", cell: func(at attachment) string { return a.age(at.GetMeta().GetCreatedAt()) }},
			{head: "MESSAGE", cell: attachment.GetMessage},
		},
		more: func(at attachment) []section { return []section{conditions(at.GetConditions())} },
	}
}

func attachmentState(at *adminv1.Attachment) string {
	switch {
	case at.GetMeta().GetDeletingSince() != nil:
		return "detaching"
	case isTrue(at, "Ready"):
		return "Ready"
	case isTrue(at, "Attached"):
		return "attached"
	case slices.Contains([]string{"IOSuspended", "QuorumLost"}, condition(at.GetConditions(), "Attached").GetReason()):
		return "suspended"
	case at.GetGranted():
		return "attaching"
	default:
		return "waiting"
	}
}

func isTrue(at *adminv1.Attachment, kind string) bool {
	return condition(at.GetConditions(), kind).GetStatus() == "True"
}

func (a *app) volumeAttach() *cobra.Command {
	wait := false
	c := &cobra.Command{
		Use: "attach VOLUME NODE", Short: "Make a volume usable on a node", Args: args("VOLUME", "NODE"),
		Example:           "  rvol volume attach db-1 n1 --wait   # then it is /dev/rvol/db-1 there",
		ValidArgsFunction: a.completeEach("volume", "node"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			name, n := args[0]+"/"+args[1], a.attachments()
			at, err := adminv1.NewVolumesClient(a.client).Attach(ctx, &adminv1.AttachRequest{Volume: args[0], Node: args[1]})
			if err != nil {
				return err
			}
			if !wait {
				return a.changed("attachment", name, at, "asked for")
			}
			err = a.wait(ctx, wish{kind: n.kind, name: name, kinds: n.reads, look: appears(n, name, attaching)})
			if err != nil {
				return err
			}
			if at, _, err = n.one(ctx, name); err != nil {
				return err
			}
			return a.changed("attachment", name, at, "is ready: %s", at.GetDevice())
		}),
	}
	waitFlag(c, &wait, "it can be used there")
	return c
}

func attaching(at *adminv1.Attachment) stage {
	s := stage{phase: "Attaching", waiting: at.GetMessage(), done: isTrue(at, "Ready")}
	if s.waiting == "" {
		s.waiting = condition(at.GetConditions(), "Ready").GetMessage()
	}
	return s
}

func (a *app) volumeDetach() *cobra.Command {
	wait := false
	c := &cobra.Command{
		Use: "detach VOLUME NODE", Short: "End the use of a volume on a node", Args: args("VOLUME", "NODE"),
		ValidArgsFunction: a.completeEach("volume", "node"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			name, n := args[0]+"/"+args[1], a.attachments()
			at, _, err := n.one(ctx, name)
			if err != nil {
				return err
			}
			done, err := adminv1.NewVolumesClient(a.client).Detach(ctx, &adminv1.AttachRequest{Volume: args[0], Node: args[1]})
			if err != nil {
				return err
			}
			if !wait {
				return a.changed("attachment", name, done, "is to end")
			}
			err = a.wait(ctx, wish{kind: n.kind, name: name, kinds: n.reads, look: detached(n, at)})
			if err != nil {
				return err
			}
			return a.changed("attachment", name, done, "ended")
		}),
	}
	waitFlag(c, &wait, "it is no longer in use there")
	return c
}

// detached makes the look of a detach. One that is given back was refused: the device is in use.
func detached(n noun[*adminv1.Attachment], at *adminv1.Attachment) func(context.Context) (stage, error) {
	name := at.GetMeta().GetName()
	look := gone(n, name, at.GetMeta().GetUid(), detaching)
	return func(ctx context.Context) (stage, error) {
		s, err := look(ctx)
		if err != nil || s.done {
			return s, err
		}
		now, ok, err := n.one(ctx, name)
		if err != nil || !ok || now.GetMeta().GetDeletingSince() != nil {
			return s, err
		}
		return s, &failure{
			code: exitConflict, what: fmt.Sprintf("attachment %s: %s", name, now.GetMessage()),
			next: "Unmount or close it on " + now.GetNode() + " first.",
		}
	}
}

func detaching(at *adminv1.Attachment) stage {
	s := stage{phase: "Detaching", waiting: at.GetMessage()}
	if s.waiting == "" {
		s.waiting = "waiting for " + at.GetNode() + " to become Secondary"
	}
	return s
}
