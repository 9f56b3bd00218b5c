package web

import (
	"time"

	adminv1 "rvol/proto/admin/v1"
)

type volume struct {
	Name        string       `json:"name"`
	State       string       `json:"state"`
	Message     string       `json:"message,omitempty"`
	Size        int64        `json:"size"`
	Devices     int          `json:"devices"`
	Class       string       `json:"class"`
	Layout      string       `json:"layout,omitempty"`
	UpToDate    int32        `json:"upToDate"`
	Wanted      int32        `json:"wanted"`
	FTT         *int32       `json:"ftt,omitempty"`
	GMDR        *int32       `json:"gmdr,omitempty"`
	Quorum      int32        `json:"quorum,omitempty"`
	MinimumCopy int32        `json:"minimum,omitempty"`
	Revision    int64        `json:"revision,omitempty"`
	Sole        *int32       `json:"sole,omitempty"`
	Created     *time.Time   `json:"created,omitempty"`
	Conditions  []condition  `json:"conditions,omitempty"`
	Replicas    []replica    `json:"replicas,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
	Changes     []transition `json:"changes,omitempty"`
}

type replica struct {
	ID         int32       `json:"id"`
	Type       string      `json:"type"`
	Node       string      `json:"node,omitempty"`
	VG         string      `json:"vg,omitempty"`
	ThinPool   string      `json:"thin,omitempty"`
	Disk       string      `json:"disk"`
	Role       string      `json:"role"`
	Connection string      `json:"connection"`
	Sync       *float64    `json:"sync,omitempty"` // percent
	Opener     string      `json:"opener,omitempty"`
	Deleting   bool        `json:"deleting,omitempty"`
	Conditions []condition `json:"conditions,omitempty"`
	Peers      []peer      `json:"peers,omitempty"`
}

type peer struct {
	ID          int32    `json:"id"`
	Connection  string   `json:"connection"`
	Replication string   `json:"replication,omitempty"`
	Disk        string   `json:"disk,omitempty"`
	Sync        *float64 `json:"sync,omitempty"`
	OutOfSync   int64    `json:"outOfSync,omitempty"`
}

type attachment struct {
	Node    string `json:"node"`
	Granted bool   `json:"granted"`
	Message string `json:"message,omitempty"`
}

type transition struct {
	Title   string     `json:"title"`
	Started *time.Time `json:"started,omitempty"`
	Steps   []step     `json:"steps,omitempty"`
}

type step struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

func volumeOf(v *adminv1.Volume) volume {
	out := volume{
		Name: v.GetMeta().GetName(), State: v.GetState(), Message: v.GetMessage(), Devices: len(v.GetDevices()), Class: v.GetClass(),
		Layout: v.GetLayout(), UpToDate: v.GetCopiesUpToDate(), Wanted: v.GetCopiesWanted(), FTT: v.EffectiveFtt, GMDR: v.EffectiveGmdr,
		Quorum: v.GetQuorum(), MinimumCopy: v.GetQuorumMinimumRedundancy(), Revision: v.GetDatameshRevision(), Sole: v.Sole,
		Created: at(v.GetMeta().GetCreatedAt()), Conditions: conditionsOf(v.GetConditions()),
	}
	for _, d := range v.GetDevices() {
		out.Size += d.GetSize()
	}
	for _, r := range v.GetReplicas() {
		out.Replicas = append(out.Replicas, replicaOf(r))
	}
	for _, a := range v.GetAttachments() {
		out.Attachments = append(out.Attachments, attachment{a.GetNode(), a.GetGranted(), a.GetMessage()})
	}
	if f := v.GetFormation(); f != nil && !v.GetFormed() {
		out.Changes = append(out.Changes, transitionOf("form the volume", f))
	}
	for _, t := range v.GetTransitions() {
		out.Changes = append(out.Changes, transitionOf(t.GetType(), t))
	}
	return out
}

func replicaOf(r *adminv1.Replica) replica {
	out := replica{
		ID: r.GetId(), Type: r.GetType(), Node: r.GetNode(), VG: r.GetVg(), ThinPool: r.GetThinPool(), Disk: r.GetDisk(),
		Role: r.GetRole(), Connection: r.GetConnection(), Sync: r.SyncPercent, Opener: r.GetOpener(),
		Deleting: r.GetMeta().GetDeletingSince() != nil, Conditions: conditionsOf(r.GetConditions()),
	}
	for _, p := range r.GetPeers() {
		out.Peers = append(out.Peers, peer{p.GetId(), p.GetConnection(), p.GetReplication(), p.GetDisk(), p.SyncPercent, p.GetOutOfSync()})
	}
	return out
}

func transitionOf(otherwise string, t *adminv1.Transition) transition {
	out := transition{Title: t.GetTitle(), Started: at(t.GetStartedAt())}
	if out.Title == "" {
		out.Title = otherwise
	}
	for _, s := range t.GetSteps() {
		out.Steps = append(out.Steps, step{s.GetName(), s.GetStatus(), s.GetMessage()})
	}
	return out
}
