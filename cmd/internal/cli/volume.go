package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeCommand() *cobra.Command {
	n := a.volumes()
	return a.group("volume", "Highly available block devices", n.listCommand(), n.showCommand(),
		a.volumeCreate(), a.volumeResize(), a.volumeCancel(), a.volumeAdopt(),
		a.retryCommand("volume", "NAME", func(name string) *adminv1.RetryRequest { return &adminv1.RetryRequest{Volume: name} }),
		a.volumeDelete(), a.volumeAttach(), a.volumeDetach(),
		a.volumeStop("stop", "Take a volume down everywhere, and keep it", true),
		a.volumeStop("start", "Bring a stopped volume up again", false), a.volumeVerify(), a.volumeResolve(), a.volumeRecover(), a.volumeSet())
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
		{head: "USED BY", wide: true, cell: func(v volume) string { return strings.Join(openers(v), "; ") }},
		{head: "QUORUM", wide: true, cell: func(v volume) string { return quorum(v) }},
		{head: "MAY FAIL NOW", wide: true, cell: mayFail},
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

// openers are who has the devices open, as far as agents found out.
func openers(v *adminv1.Volume) []string {
	var list []string
	for _, r := range v.GetReplicas() {
		if r.GetOpener() != "" {
			list = append(list, r.GetNode()+": "+r.GetOpener())
		}
	}
	return list
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

// mayFail writes what may be relied on right now.
func mayFail(v *adminv1.Volume) string {
	switch {
	case v.EffectiveFtt == nil:
		return ""
	case v.GetEffectiveFtt() < 0:
		return fmt.Sprintf("not usable, %d copies", v.GetEffectiveGmdr())
	}
	return fmt.Sprintf("%d nodes, %d copies", v.GetEffectiveFtt(), v.GetEffectiveGmdr())
}

func (a *app) volumeSections(v *adminv1.Volume) []section {
	list := []section{devices(v)}
	if v.GetFormation() != nil {
		list = append(list, a.transition(v.GetFormation()))
	}
	for _, t := range v.GetTransitions() {
		list = append(list, a.transition(t))
	}
	if len(v.GetPending()) > 0 {
		list = append(list, a.pending(v.GetMeta().GetName(), v.GetPending()))
	}
	if v.GetVerification() != nil {
		list = append(list, a.verification(v.GetVerification()))
	}
	replicas := a.replicas().table(v.GetReplicas())
	attachments := a.attachments().table(v.GetAttachments())
	return append(list, section{"Replicas", replicas}, section{"Attachments", attachments}, conditions(v.GetConditions()))
}

// pending is what replicas ask of the mesh, and for how long.
func (a *app) pending(volume string, asked []*adminv1.PendingReplica) section {
	t := table{heads: []string{"REPLICA", "ASKS TO", "AS", "FOR", "MESSAGE"}}
	for _, p := range asked {
		t.rows = append(t.rows, []string{
			fmt.Sprintf("%s/%d", volume, p.GetId()), p.GetRequest(), dash(p.GetType()), a.age(p.GetFirstObservedAt()), dash(p.GetMessage()),
		})
	}
	return section{"Pending", t}
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
	t := table{heads: []string{"STEP", "REPLICA", "STATUS", "TOOK", "MESSAGE"}}
	for _, s := range tr.GetSteps() {
		lasted := a.age(s.GetStartedAt())
		if s.GetCompletedAt() != nil {
			lasted = short(took(s))
		}
		replica := ""
		if s.Replica != nil {
			replica = number(s.GetReplica())
		}
		t.rows = append(t.rows, []string{s.GetName(), dash(replica), s.GetStatus(), dash(lasted), dash(s.GetMessage())})
	}
	title := fmt.Sprintf("%s (%s)", cmp.Or(tr.GetTitle(), tr.GetType()), tr.GetPlan())
	if tr.GetAbort() != "" {
		title += ", given up: " + tr.GetAbort()
	}
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
