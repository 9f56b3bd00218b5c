package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeCreate() *cobra.Command {
	r, wait := &adminv1.CreateVolumeRequest{}, false
	var sizes, labels, properties, options []string
	c := &cobra.Command{
		Use: "create NAME --size SIZE --class CLASS", Short: "Make a volume", Args: args("NAME"),
		Example:           "  rvol volume create db-1 --size 10GiB --class r2 --wait\n  rvol volume create db-2 --size 100GiB,8GiB --class r2 --attach-to n1",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			r.Name = args[0]
			if r.Sizes, err = parseSizes(sizes); err != nil {
				return err
			}
			for _, p := range []struct {
				flag  string
				to    *map[string]string
				texts []string
			}{{"label", &r.Labels, labels}, {"property", &r.Properties, properties}, {"drbd", &r.Drbd, options}} {
				if *p.to, err = parsePairs(p.flag, p.texts); err != nil {
					return err
				}
			}
			return a.createVolume(ctx, r, wait)
		}),
	}
	f := c.Flags()
	f.StringSliceVar(&sizes, "size", nil, "`SIZE` of the device, or of each device in turn: "+sizeHelp)
	f.StringVar(&r.Class, "class", "", "its `CLASS`")
	f.StringSliceVar(&r.AttachTo, "attach-to", nil, "`NODES` on which it will be used: they are preferred as places")
	f.Int32Var(&r.MaxAttachments, "max-attachments", 0, "on how many nodes, `N`, it may be in use at once; 2 for live migration (default 1)")
	pairFlag(c, &labels, "label", "a label")
	pairFlag(c, &properties, "property", "a property, kept as it is")
	pairFlag(c, &options, "drbd", "a DRBD tuning option, over that of the class")
	waitFlag(c, &wait, "it is formed and all its copies are UpToDate")
	need(c, "size", "class")
	complete(c, "class", a.completeNames("class"))
	complete(c, "attach-to", a.completeNames("node"))
	complete(c, "size", cobra.NoFileCompletions)
	return c
}

func (a *app) createVolume(ctx context.Context, r *adminv1.CreateVolumeRequest, wait bool) error {
	v, err := adminv1.NewVolumesClient(a.client).Create(ctx, r)
	if err != nil {
		return err
	}
	for i, d := range v.GetDevices() {
		if i < len(r.GetSizes()) && d.GetSize() != r.GetSizes()[i] {
			a.note("device %d: %d bytes rounded up to %d", d.GetNumber(), r.GetSizes()[i], d.GetSize())
		}
	}
	if !wait {
		return a.changed("volume", r.GetName(), v, "created; it is being formed")
	}
	n := a.volumes()
	err = a.wait(ctx, wish{kind: n.kind, name: r.GetName(), kinds: n.reads, look: appears(n, r.GetName(), forming)})
	if err != nil {
		return err
	}
	v, _, err = n.one(ctx, r.GetName())
	if err != nil {
		return err
	}
	return a.changed("volume", r.GetName(), v, "is %s on %s", v.GetState(), strings.Join(diskfulNodes(v), ", "))
}

// forming says how far a new volume has come.
func forming(v *adminv1.Volume) stage {
	s := stage{done: v.GetFormed(), waiting: v.GetMessage(), sync: leastSync(v), phase: "Scheduling"}
	for _, step := range v.GetFormation().GetSteps() {
		switch step.GetStatus() {
		case "Completed":
			s.passed = append(s.passed, passed{step.GetName(), took(step)})
		case "Active":
			s.phase = step.GetName()
			if step.GetMessage() != "" {
				s.waiting = step.GetMessage()
			}
		}
	}
	for _, r := range v.GetReplicas() {
		c := condition(r.GetConditions(), "Scheduled")
		if c.GetStatus() == "False" && r.GetNode() == "" {
			s.noPlace = fmt.Sprintf("replica %s: %s", r.GetMeta().GetName(), c.GetMessage())
			s.phase, s.waiting = "Scheduling", s.noPlace
			break
		}
	}
	return s
}
