package web

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

// The words of the page: what the admin API tells, as far as it is drawn. Conditions are those that are not True.

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

func conditionsOf(cs []*adminv1.Condition) []condition {
	var out []condition
	for _, c := range cs {
		if c.GetStatus() != "True" {
			out = append(out, condition{c.GetType(), c.GetStatus(), c.GetReason(), c.GetMessage()})
		}
	}
	return out
}

func at(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	when := t.AsTime()
	return &when
}

type cluster struct {
	ID          string   `json:"id"`
	Leader      string   `json:"leader"`
	Term        uint64   `json:"term"`
	AnsweredBy  string   `json:"answeredBy"`
	Reconciling bool     `json:"reconciling,omitempty"`
	Members     []member `json:"members"`
}

type member struct {
	Name       string      `json:"name"`
	Voter      bool        `json:"voter"`
	Leader     bool        `json:"leader"`
	Version    string      `json:"version"`
	Conditions []condition `json:"conditions,omitempty"`
}

func clusterOf(st *adminv1.ClusterStatus) cluster {
	out := cluster{ID: st.GetId(), Leader: st.GetLeader(), Term: st.GetTerm(), AnsweredBy: st.GetAnsweredBy(), Reconciling: st.GetReconciling()}
	for _, m := range st.GetMembers() {
		out.Members = append(out.Members, member{m.GetName(), m.GetVoter(), m.GetLeader(), m.GetVersion(), conditionsOf(m.GetConditions())})
	}
	return out
}

type node struct {
	Name          string      `json:"name"`
	Zone          string      `json:"zone"`
	Ready         bool        `json:"ready"`
	Reason        string      `json:"reason,omitempty"`
	Unschedulable bool        `json:"unschedulable,omitempty"`
	Fenced        bool        `json:"fenced,omitempty"`
	Connected     bool        `json:"connected"`
	DRBD          string      `json:"drbd,omitempty"`
	Kernel        string      `json:"kernel,omitempty"`
	Agent         string      `json:"agent,omitempty"`
	Conditions    []condition `json:"conditions,omitempty"`
}

func nodeOf(n *adminv1.Node) node {
	return node{
		Name: n.GetMeta().GetName(), Zone: n.GetZone(), Ready: n.GetReady(), Reason: n.GetStatusReason(),
		Unschedulable: n.GetUnschedulable(), Fenced: n.GetFenced(), Connected: n.GetConnected(),
		DRBD: n.GetDrbd(), Kernel: n.GetKernel(), Agent: n.GetAgentVersion(), Conditions: conditionsOf(n.GetConditions()),
	}
}

type lvg struct {
	Name          string      `json:"name"`
	Node          string      `json:"node"`
	VG            string      `json:"vg"`
	Unschedulable bool        `json:"unschedulable,omitempty"`
	Spaces        []space     `json:"spaces"`
	Conditions    []condition `json:"conditions,omitempty"`
}

type space struct {
	ThinPool string   `json:"thin,omitempty"`
	Size     int64    `json:"size"`
	Limit    int64    `json:"limit"`
	Reserved int64    `json:"reserved"`
	Foreign  int64    `json:"foreign"`
	Free     int64    `json:"free"`
	Over     int32    `json:"over,omitempty"` // percent
	Data     *float64 `json:"data,omitempty"` // percent
	Metadata *float64 `json:"metadata,omitempty"`
	Stopped  string   `json:"stopped,omitempty"`
}

func lvgOf(g *adminv1.LVG) lvg {
	out := lvg{
		Name: g.GetMeta().GetName(), Node: g.GetNode(), VG: g.GetVg(), Unschedulable: g.GetUnschedulable(),
		Conditions: conditionsOf(g.GetConditions()), Spaces: []space{},
	}
	for _, s := range g.GetSpaces() {
		if s.GetThinPool() == "" && g.GetThickOff() {
			continue // it is not offered
		}
		out.Spaces = append(out.Spaces, space{
			ThinPool: s.GetThinPool(), Size: s.GetSize(), Limit: s.GetLimit(), Reserved: s.GetReserved(), Foreign: s.GetForeign(),
			Free: s.GetFree(), Over: s.GetOverProvisioningPercent(), Data: s.DataPercent, Metadata: s.MetadataPercent, Stopped: s.GetGrowthStopped(),
		})
	}
	return out
}

type event struct {
	Index   uint64     `json:"index"`
	Time    *time.Time `json:"time"`
	Actor   string     `json:"actor"`
	Cause   string     `json:"cause"`
	Objects []string   `json:"objects,omitempty"`
}

// maxObjects of an event are told: one may have changed thousands.
const maxObjects = 20

func eventOf(e *adminv1.Event) event {
	out := event{Index: e.GetIndex(), Time: at(e.GetTime()), Actor: e.GetActor(), Cause: e.GetCause(), Objects: e.GetObjects()}
	if len(out.Objects) > maxObjects {
		out.Objects = out.Objects[:maxObjects]
	}
	return out
}
