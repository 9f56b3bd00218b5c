package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
)

type replicas struct {
	adminv1.UnimplementedReplicasServer
	*api
}

// List tells of replicas where they are, and how as far as their agents have said.
func (s *replicas) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListReplicasResponse, error) {
	v, seen := s.Store.View(), s.Inventory.View()
	picked, err := pick[*model.Replica](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListReplicasResponse{}
	for _, r := range picked {
		if on(q, r.Node, r.Volume) {
			view := viewOf(v, seen, r)
			out.Replicas = append(out.Replicas, view.proto())
		}
	}
	return out, nil
}

// replicaView is a replica with what its agent last said of it.
type replicaView struct {
	*model.Replica
	agent  *inventory.Node     // nil: nothing since the election
	status *model.VolumeStatus // nil: not looked at yet
}

func viewOf(v state.View, seen inventory.View, r *model.Replica) replicaView {
	vs, _ := state.Get[*model.VolumeStatus](v, r.Volume)
	return replicaView{Replica: r, agent: seen.Node(r.Node), status: vs}
}

// resource is the DRBD resource of the replica, as its kernel last had it.
func (r replicaView) resource() (inventory.Resource, bool) {
	return r.agent.Resource(model.ResourceName(r.Volume))
}

// said is how far its agent has come with it.
func (r replicaView) said() inventory.ReplicaState {
	if r.agent == nil {
		return inventory.ReplicaState{}
	}
	return r.agent.Replicas[r.UID]
}

func (r replicaView) proto() *adminv1.Replica {
	out := &adminv1.Replica{
		Meta: meta(&r.Meta), Volume: r.Volume, Id: int32(r.ID), Type: string(r.Type), Node: r.Node, Vg: r.VG, ThinPool: r.ThinPool,
		Port: int32(r.Port), Disk: r.disk(), Role: "Unknown", Connection: "Unknown", Device: devicePath(r.Volume),
	}
	for _, d := range r.Devices {
		out.Minors = append(out.Minors, int32(d.Minor))
	}
	if res, up := r.resource(); up && r.agent.Known() {
		out.Role, out.Connection = string(res.Role), worst(res)
		out.Opener, out.Open = res.Open()
		out.SyncPercent, out.Peers = r.syncPercent(), r.peers(res)
	}
	if c, ok := r.Conditions.Get("Scheduled"); ok {
		out.Conditions = append(out.Conditions, condition(c))
	}
	out.Conditions = append(out.Conditions, conditions(r.soft())...)
	out.Conditions = append(out.Conditions, conditions(r.failed())...)
	return out
}

func devicePath(volume string) string { return "/dev/rvol/" + volume }

// disk is the disk state as last reported.
func (r replicaView) disk() string {
	if !r.agent.Known() || r.agent.DRBDError != "" {
		return "Unknown"
	}
	res, up := r.resource()
	if !up {
		return "Down"
	}
	return string(res.Disk())
}

// worst is the connection that is furthest from Connected.
func worst(res inventory.Resource) string {
	if len(res.Peers) == 0 {
		return "-"
	}
	for _, p := range res.Peers {
		if p.Connection != drbd.Connected {
			return string(p.Connection)
		}
	}
	return string(drbd.Connected)
}

// syncPercent is how much is copied of the device that is furthest behind; nil when
// nothing is being copied.
func (r replicaView) syncPercent() *float64 {
	res, up := r.resource()
	if !up || !r.agent.Known() {
		return nil
	}
	var least *float64
	for _, p := range res.Peers {
		for _, d := range p.Devices {
			if d.Replication.Resyncing() && !d.Replication.Comparing() && (least == nil || d.DonePercent < *least) {
				least = &d.DonePercent
			}
		}
	}
	return least
}

// soft are the conditions that are computed from what the agent last said.
func (r replicaView) soft() []model.Condition {
	cs := []model.Condition{r.configured(), r.connected()}
	if r.Type == model.Diskful {
		cs = slices.Concat([]model.Condition{r.backed()}, cs, []model.Condition{r.dataUpToDate()})
	}
	ready := model.Condition{Type: "Ready", Status: model.True, Reason: "Ready"}
	for _, c := range cs {
		if c.Status != model.True {
			ready.Status, ready.Reason, ready.Message = c.Status, c.Reason, c.Message
			break
		}
	}
	return append(cs, ready)
}

// judge makes a condition of a verdict, and Unknown where there is no report to judge by.
func (r replicaView) judge(what string, ok bool, reason, message string) model.Condition {
	c := model.Condition{Type: what, Status: model.False, Reason: reason, Message: message}
	switch {
	case r.Node == "":
		c.Reason, c.Message = "NotScheduled", "it has no node yet"
	case !r.agent.Known():
		c.Status, c.Reason, c.Message = model.Unknown, "NoReport", "no report from node "+r.Node
	case r.agent.DRBDError != "":
		c.Status, c.Reason, c.Message = model.Unknown, "IncompleteReport", "node "+r.Node+": "+r.agent.DRBDError
	case ok:
		c.Status, c.Reason, c.Message = model.True, what, ""
	}
	return c
}

func (r replicaView) backed() model.Condition {
	said := r.said()
	have := 0
	for _, b := range said.Backing {
		if b.LVUUID != "" {
			have++
		}
	}
	ok := have > 0 && have >= len(r.Devices)
	return r.judge("BackingVolumeReady", ok, "BackingVolumeNotReady", why(said, fmt.Sprintf("%d of %d logical volumes are there", have, len(r.Devices))))
}

// why is what an agent says it is doing or cannot do, or else what is missing.
func why(s inventory.ReplicaState, otherwise string) string {
	switch {
	case s.Error != "":
		return s.Error
	case s.Step != "":
		return s.Step
	}
	return otherwise
}

func (r replicaView) configured() model.Condition {
	said := r.said()
	_, up := r.resource()
	if r.status == nil {
		return r.judge("Configured", false, "NotConfigured", "the volume has not been looked at yet")
	}
	if _, member := r.status.Datamesh.Member(r.ID); !member {
		return r.judge("Configured", up && said.Preconfigured, "Preconfiguring", why(said, "it is being set up without peers"))
	}
	want := r.status.Datamesh.Revision
	return r.judge("Configured", up && said.AppliedRevision >= want, "WaitingForRevision",
		why(said, fmt.Sprintf("its node runs revision %d, the volume is at %d", said.AppliedRevision, want)))
}

func (r replicaView) connected() model.Condition {
	res, up := r.resource()
	peers := 0
	if r.status != nil {
		if _, member := r.status.Datamesh.Member(r.ID); member {
			peers = len(r.status.Datamesh.Members) - 1
		}
	}
	var not []string
	linked := 0
	for _, p := range res.Peers {
		if p.Connection == drbd.Connected {
			linked++
			continue
		}
		not = append(not, strings.TrimPrefix(p.Name+" "+string(p.Connection), " "))
	}
	message := fmt.Sprintf("connected with %d of %d peers", linked, peers)
	if len(not) > 0 {
		message += ": " + strings.Join(not, ", ")
	}
	return r.judge("Connected", up && linked >= peers, "NotConnected", message)
}

func (r replicaView) dataUpToDate() model.Condition {
	message := "its disk is " + r.disk()
	if p := r.syncPercent(); p != nil {
		message += fmt.Sprintf(", %.1f %% copied", *p)
	}
	return r.judge("DataUpToDate", r.disk() == string(drbd.UpToDate), r.disk(), message)
}
