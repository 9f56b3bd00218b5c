package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeResize() *cobra.Command {
	r, device, wait := &adminv1.ResizeVolumeRequest{}, int32(0), false
	c := &cobra.Command{
		Use: "resize NAME [SIZE]", Short: "Make a volume larger, while it is in use",
		Long: "Make a volume larger, while it is in use. Space is reserved on every node that holds a copy, or nothing is done. " +
			"A filesystem on the volume is grown afterwards, with its own tool.",
		Args: args("NAME", "[SIZE]"), ValidArgsFunction: a.completeEach("volume", ""),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r.Name = args[0]
			switch {
			case r.GetAbort() == (len(args) == 2):
				return usage("resize %s: give either the new SIZE or --abort", r.GetName())
			case r.GetAbort():
				v, err := adminv1.NewVolumesClient(a.client).Resize(ctx, r)
				if err != nil {
					return err
				}
				return a.changed("volume", r.GetName(), v, "keeps its size; what was reserved is given back")
			}
			size, err := parseSize(args[1])
			if err != nil {
				return usage("%s", err)
			}
			r.Devices = []*adminv1.VolumeDevice{{Number: device, Size: size}}
			return a.resizeVolume(ctx, r, wait)
		}),
	}
	f := c.Flags()
	f.Int32Var(&device, "device", 0, "`NUMBER` of the device, of a volume that has several")
	f.BoolVar(&r.Abort, "abort", false, "give up the resize that is under way")
	waitFlag(c, &wait, "every copy and DRBD have grown")
	return c
}

func (a *app) resizeVolume(ctx context.Context, r *adminv1.ResizeVolumeRequest, wait bool) error {
	v, err := adminv1.NewVolumesClient(a.client).Resize(ctx, r)
	if err != nil {
		return err
	}
	to, number := r.GetDevices()[0].GetSize(), r.GetDevices()[0].GetNumber()
	t := resizing(v)
	for _, d := range t.GetDevices() {
		if d.GetNumber() == number && d.GetSize() != to {
			a.note("device %d: %d bytes rounded up to %d", number, to, d.GetSize())
			to = d.GetSize()
		}
	}
	if t == nil && growing(v, number, to).done {
		return a.changed("volume", r.GetName(), v, "has %s", humanSize(to))
	}
	if !wait {
		return a.changed("volume", r.GetName(), v, "grows to %s", humanSize(to))
	}
	n := a.volumes()
	err = a.wait(ctx, wish{kind: n.kind, name: r.GetName(), kinds: n.reads, look: func(ctx context.Context) (stage, error) {
		s, err := appears(n, r.GetName(), func(v *adminv1.Volume) stage { return growing(v, number, to) })(ctx)
		if err == nil && s.failed != "" {
			err = &failure{code: exitFailed, what: fmt.Sprintf("volume %s: not resized: %s", r.GetName(), s.failed)}
		}
		return s, err
	}})
	if err != nil {
		return err
	}
	v, _, err = n.one(ctx, r.GetName())
	if err != nil {
		return err
	}
	return a.changed("volume", r.GetName(), v, "has %s", humanSize(to))
}

// resizing is the resize under way; nil: there is none.
func resizing(v *adminv1.Volume) *adminv1.Transition {
	for _, t := range v.GetTransitions() {
		if t.GetType() == "ResizeVolume" {
			return t
		}
	}
	return nil
}

// growing says how far a resize has come.
func growing(v *adminv1.Volume, device int32, to int64) stage {
	for _, d := range v.GetDevices() {
		if d.GetNumber() == device && d.GetSize() >= to {
			return stage{done: true}
		}
	}
	t := resizing(v)
	if t == nil {
		c := condition(v.GetConditions(), "Resized")
		if c.GetStatus() == "False" {
			return stage{failed: c.GetMessage()}
		}
		return stage{failed: "another size was asked for, or it was given up"}
	}
	s := stage{phase: "ResizeVolume", sync: leastSync(v)}
	for _, step := range t.GetSteps() {
		switch step.GetStatus() {
		case "Completed":
			s.passed = append(s.passed, passed{step.GetName(), took(step)})
		default:
			s.phase, s.waiting = step.GetName(), step.GetMessage()
			return s
		}
	}
	return s
}
