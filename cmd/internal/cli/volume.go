package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeCommand() *cobra.Command {
	n := a.volumes()
	return a.group("volume", "Highly available block devices", n.listCommand(), n.showCommand(),
		a.volumeCreate(), a.volumeDelete(), a.volumeAttach(), a.volumeDetach(),
		a.volumeStop("stop", "Take a volume down everywhere, and keep it", true),
		a.volumeStop("start", "Bring a stopped volume up again", false), a.volumeSet())
}

func (a *app) volumes() noun[*adminv1.Volume] {
	return noun[*adminv1.Volume]{
		app: a, kind: "volume", filters: []string{"node"},
		reads: []string{"volume", "volume.status", "replica", "attachment", "reservation", "operation", "node", "node.status"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]*adminv1.Volume, error) {
			r, err := adminv1.NewVolumesClient(a.client).List(ctx, q)
			return r.GetVolumes(), err
		},
		columns: a.volumeColumns(),
		more:    a.volumeSections,
	}
}

func (a *app) volumeColumns() []column[*adminv1.Volume] {
	type volume = *adminv1.Volume
	return []column[volume]{
		{head: "NAME", cell: func(v volume) string { return v.GetMeta().GetName() }},
		{head: "STATE", cell: volume.GetState},
		{head: "SIZE", cell: volumeSize},
		{head: "CLASS", cell: volume.GetClass},
		{head: "LAYOUT", wide: true, cell: volume.GetLayout},
		{head: "COPIES", cell: func(v volume) string { return fmt.Sprintf("%d/%d", v.GetCopiesUpToDate(), v.GetCopiesWanted()) }},
		{head: "ON", cell: func(v volume) string { return strings.Join(diskfulNodes(v), ",") }},
		{head: "SYNC", cell: func(v volume) string { return maybePercent(leastSync(v)) }},
		{head: "USED ON", cell: func(v volume) string { return strings.Join(usedOn(v), ",") }},
		{head: "QUORUM", wide: true, cell: func(v volume) string { return quorum(v) }},
		{head: "REVISION", wide: true, cell: func(v volume) string { return number(v.GetDatameshRevision()) }},
		{head: "AGE", wide: true, cell: func(v volume) string { return a.age(v.GetMeta().GetCreatedAt()) }},
		{head: "MESSAGE", wide: true, cell: volume.GetMessage},
	}
}

// volumeSize is the sum over the devices, and how many they are when they are several.
func volumeSize(v *adminv1.Volume) string {
	sum := int64(0)
	for _, d := range v.GetDevices() {
		sum += d.GetSize()
	}
	if n := len(v.GetDevices()); n > 1 {
		return fmt.Sprintf("%s in %d", humanSize(sum), n)
	}
	return humanSize(sum)
}

func diskfulNodes(v *adminv1.Volume) []string {
	var nodes []string
	for _, r := range v.GetReplicas() {
		if r.GetType() == "Diskful" && r.GetNode() != "" {
			nodes = append(nodes, r.GetNode())
		}
	}
	return nodes
}

func usedOn(v *adminv1.Volume) []string {
	var nodes []string
	for _, at := range v.GetAttachments() {
		if at.GetGranted() {
			nodes = append(nodes, at.GetNode())
		}
	}
	return nodes
}

// leastSync is the percentage of the replica that is furthest behind; nil when nothing is being copied.
func leastSync(v *adminv1.Volume) *float64 {
	var least *float64
	for _, r := range v.GetReplicas() {
		if p := r.SyncPercent; p != nil && (least == nil || *p < *least) {
			least = p
		}
	}
	return least
}

// quorum writes the voters and the copies that must be there for I/O to go on, or that it is off.
func quorum(v *adminv1.Volume) string {
	if v.GetQuorum() == 0 {
		return "off"
	}
	return fmt.Sprintf("%d voters, %d UpToDate", v.GetQuorum(), v.GetQuorumMinimumRedundancy())
}

func (a *app) volumeSections(v *adminv1.Volume) []section {
	list := []section{devices(v)}
	if v.GetFormation() != nil {
		list = append(list, a.transition(v.GetFormation()))
	}
	for _, t := range v.GetTransitions() {
		list = append(list, a.transition(t))
	}
	replicas := a.replicas().table(v.GetReplicas())
	attachments := a.attachments().table(v.GetAttachments())
	return append(list, section{"Replicas", replicas}, section{"Attachments", attachments}, conditions(v.GetConditions()))
}

func devices(v *adminv1.Volume) section {
	t := table{heads: []string{"DEVICE", "SIZE", "BYTES", "PATH"}}
	name := v.GetMeta().GetName()
	for _, d := range v.GetDevices() {
		path := "/dev/rvol/" + name
		if d.GetNumber() > 0 {
			path += fmt.Sprintf(".%d", d.GetNumber())
		}
		t.rows = append(t.rows, []string{number(d.GetNumber()), humanSize(d.GetSize()), number(d.GetSize()), path})
	}
	return section{"Devices", t}
}

func (a *app) transition(tr *adminv1.Transition) section {
	t := table{heads: []string{"STEP", "STATUS", "TOOK", "MESSAGE"}}
	for _, s := range tr.GetSteps() {
		lasted := a.age(s.GetStartedAt())
		if s.GetCompletedAt() != nil {
			lasted = short(took(s))
		}
		t.rows = append(t.rows, []string{s.GetName(), s.GetStatus(), dash(lasted), dash(s.GetMessage())})
	}
	title := fmt.Sprintf("%s (%s)", tr.GetType(), tr.GetPlan())
	if tr.GetRestarts() > 0 {
		title += fmt.Sprintf(", restarted %d times", tr.GetRestarts())
	}
	return section{title, t}
}

// took is how long a completed step lasted, by the leader's clock; 0: not known.
func took(s *adminv1.TransitionStep) time.Duration {
	if s.GetStartedAt() == nil || s.GetCompletedAt() == nil {
		return 0
	}
	return s.GetCompletedAt().AsTime().Sub(s.GetStartedAt().AsTime())
}

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
	f.Int32Var(&r.MaxAttachments, "max-attachments", 0, "on how many nodes it may be in use at once; 2 for live migration (default 1)")
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

func (a *app) volumeStop(verb, short string, stopped bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: args("NAME"),
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			v, err := adminv1.NewVolumesClient(a.client).Set(ctx, &adminv1.SetVolumeRequest{Name: args[0], Stopped: &stopped})
			if err != nil {
				return err
			}
			return a.changed("volume", args[0], v, "is to %s", verb)
		}),
	}
}

func (a *app) volumeSet() *cobra.Command {
	var labels labelFlags
	var properties []string
	var most int32
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a volume's labels, properties and limits", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if err := someFlag(c); err != nil {
				return err
			}
			r := &adminv1.SetVolumeRequest{Name: args[0], MaxAttachments: given(c, "max-attachments", most)}
			if r.Labels, err = labels.change(); err != nil {
				return err
			}
			if r.Properties, err = parsePairs("property", properties); err != nil {
				return err
			}
			v, err := adminv1.NewVolumesClient(a.client).Set(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("volume", args[0], v, "changed")
		}),
	}
	labels.on(c)
	pairFlag(c, &properties, "property", "a property, kept as it is")
	c.Flags().Int32Var(&most, "max-attachments", 0, "on how many nodes it may be in use at once")
	return c
}
