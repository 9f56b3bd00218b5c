package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeDelete() *cobra.Command {
	ok, wait := consent{app: a}, false
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a volume and its data", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			name, n := args[0], a.volumes()
			if err := ok.ask(c, name, "destroys its data on every node"); err != nil {
				return err
			}
			v, found, err := n.one(ctx, name)
			if err != nil {
				return err
			}
			if !found {
				return a.notFound(ctx, "volume", name)
			}
			done, err := adminv1.NewVolumesClient(a.client).Delete(ctx, &adminv1.DeleteRequest{Name: name, Confirm: name})
			if err != nil || !wait {
				return a.deleted("volume", name, done, err)
			}
			err = a.wait(ctx, wish{kind: n.kind, name: name, kinds: n.reads, look: gone(n, name, v.GetMeta().GetUid(), deleting)})
			if err != nil {
				return err
			}
			return a.changed("volume", name, done, "is gone from every node")
		}),
	}
	ok.yesFlag(c)
	waitFlag(c, &wait, "no trace of it is left on any node")
	return c
}

// deleting says who still holds something of a volume.
func deleting(v *adminv1.Volume) stage {
	s := stage{phase: "Deleting", waiting: v.GetMessage()}
	if s.waiting == "" {
		nodes := []string{}
		for _, r := range v.GetReplicas() {
			nodes = append(nodes, r.GetNode())
		}
		slices.Sort(nodes)
		s.waiting = "waiting for " + strings.Join(slices.Compact(nodes), ", ")
		if len(nodes) == 0 {
			s.waiting = ""
		}
	}
	return s
}
