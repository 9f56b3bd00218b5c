package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/broken"
	"rvol/coordinator/decide/formation"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// The states of a volume, from worst to best of what can be said of it.
const (
	stateDeleting    = "deleting"
	stateStopped     = "stopped"
	stateForming     = "forming"
	stateUnknown     = "unknown"
	stateUnavailable = "unavailable"
	stateSuspended   = "suspended"
	stateSyncing     = "syncing"
	stateDegraded    = "degraded"
	stateReady       = "ready"
)

// health is how a volume is, as far as its agents have said.
type health struct {
	view      state.View
	volume    *model.Volume
	status    *model.VolumeStatus // nil: not looked at yet
	replicas  []replicaView
	layout    string
	wanted    int // copies
	upToDate  int
	unknown   []string // nodes with a copy of which nothing is known
	lacking   []string // copies that are not UpToDate, with what they are
	syncing   *float64 // percent of the copy that is furthest behind
	known     int      // copies of which something is known
	inquorate int      // of those, without quorum
	frozen    string   // why I/O waits for the other copy, or for leave to go on without it
	split     *model.Condition
}

func healthOf(v state.View, seen inventory.View, vol *model.Volume) health {
	h := health{view: v, volume: vol}
	if vs, ok := state.Get[*model.VolumeStatus](v, vol.Name); ok {
		h.status = vs
	}
	h.wants()
	for r := range state.Under[*model.Replica](v, vol.Name+"/") {
		view := viewOf(v, seen, r)
		h.replicas = append(h.replicas, view)
		if r.Type == model.Diskful && !r.Deleting() {
			h.count(view)
		}
	}
	h.judgeSplit(seen)
	return h
}

// judgeSplit looks for copies that were both written alone.
func (h *health) judgeSplit(seen inventory.View) {
	if !slices.ContainsFunc(h.replicas, func(r replicaView) bool { return len(r.said().Apart) > 0 }) {
		return
	}
	in, err := brokenInput(h.view, seen, h.volume.Name, time.Now())
	if err != nil {
		return
	}
	if c, torn := broken.Condition(in); torn {
		h.split = &c
	}
}

// conditions are those that were decided, and those that are computed from what agents say.
func (h *health) conditions() []model.Condition {
	cs := slices.Clone(h.status.Conditions)
	if h.split != nil {
		cs = append(cs, *h.split)
	}
	return cs
}

// count adds one copy to the sums.
func (h *health) count(r replicaView) {
	if h.joining(r) {
		h.lacking = append(h.lacking, fmt.Sprintf("%s on %s is being made", r.Name, orNowhere(r.Node)))
		return
	}
	if !r.agent.Known() || r.agent.DRBDError != "" {
		h.unknown = append(h.unknown, orNowhere(r.Node))
		return
	}
	h.known++
	res, up := r.resource()
	h.suspends(r, res)
	if up && !quorate(h.status, res) {
		h.inquorate++
	}
	if up && res.Disk() == drbd.UpToDate {
		h.upToDate++
	} else {
		h.lacking = append(h.lacking, fmt.Sprintf("%s on %s is %s", r.Name, orNowhere(r.Node), r.disk()))
	}
	if p := r.syncPercent(); p != nil && (h.syncing == nil || *p < *h.syncing) {
		h.syncing = p
	}
}

// joining says that a replica of a formed volume is no member yet: the volume does not count
// on it.
func (h *health) joining(r replicaView) bool {
	if h.status == nil || !h.status.Formed {
		return false
	}
	_, member := h.status.Datamesh.Member(r.ID)
	return !member
}

// suspends notes that I/O on a node waits for the other copy.
func (h *health) suspends(r replicaView, res inventory.Resource) {
	if res.Role == drbd.Primary && res.Suspended == "fencing" {
		h.frozen = "I/O on " + r.Node + " is frozen: " + frozenWhy
	}
}

// wants works out the layout: what the volume runs, or would get.
func (h *health) wants() {
	var l layout.Layout
	class, ok := state.Get[*model.Class](h.view, h.volume.Class)
	switch {
	case h.status != nil && h.status.Configuration != nil:
		cfg := h.status.Configuration
		l = layout.Formula(cfg.FTT, cfg.GMDR)
		if old, err := layout.NewDRBD84(cfg.FTT, cfg.GMDR); err == nil && h.status.DRBD == "8.4" {
			l = old
		}
	case ok:
		cs, _ := state.Get[*model.ClassStatus](h.view, class.Name)
		pool := class.Pool
		if cs != nil {
			pool = cs.PoolName
		}
		l = classLayout(h.view, class, pool)
	default:
		return
	}
	h.layout, h.wanted = l.Short(), l.Diskful
}

// quorate says whether the kernel lets a resource serve. DRBD 8.4 knows no quorum.
func quorate(vs *model.VolumeStatus, r inventory.Resource) bool {
	if vs == nil || vs.DRBD != "9" || vs.Datamesh.Quorum == 0 {
		return true
	}
	for _, d := range r.Devices {
		if !d.Quorum {
			return false
		}
	}
	return true
}

func orNowhere(node string) string {
	if node == "" {
		return "no node yet"
	}
	return node
}

// state says in a word how the volume is, and in a sentence why.
func (h *health) state() (word, why string) {
	switch {
	case h.volume.Deleting():
		return stateDeleting, h.leaving()
	case h.status == nil || !h.status.Formed:
		return stateForming, h.forming()
	case h.volume.Stopped:
		return stateStopped, "it is kept, and down everywhere: `rvol volume start " + h.volume.Name + "`"
	}
	return h.running()
}

// running judges a formed volume.
func (h *health) running() (word, why string) {
	lacks := strings.Join(h.lacking, "; ")
	switch {
	case h.upToDate == 0 && len(h.unknown) > 0:
		return stateUnknown, "no report from " + strings.Join(h.unknown, ", ")
	case h.upToDate == 0:
		return stateUnavailable, "no copy is UpToDate: " + lacks
	case h.outOfReach() != "":
		return stateUnavailable, h.outOfReach()
	case h.known > 0 && h.known == h.inquorate:
		return stateUnavailable, fmt.Sprintf("no quorum: %d of %d copies are UpToDate; %s", h.upToDate, h.wanted, lacks)
	case h.frozen != "":
		return stateSuspended, h.frozen
	}
	return h.serving()
}

// serving judges a formed volume that can be used.
func (h *health) serving() (word, why string) {
	lacks := strings.Join(h.lacking, "; ")
	switch {
	case h.split != nil:
		return stateDegraded, h.split.Reason + ": " + h.split.Message
	case h.syncing != nil:
		return stateSyncing, fmt.Sprintf("%d of %d copies are UpToDate, %.1f %% of the next is copied", h.upToDate, h.wanted, *h.syncing)
	case len(h.unknown) > 0:
		return stateDegraded, fmt.Sprintf("%d of %d copies are UpToDate; no report from %s", h.upToDate, h.wanted, strings.Join(h.unknown, ", "))
	case h.upToDate < h.wanted:
		return stateDegraded, fmt.Sprintf("%d of %d copies are UpToDate; %s", h.upToDate, h.wanted, lacks)
	}
	for _, r := range h.replicas {
		if c := r.connected(); c.Status == model.False && !r.Deleting() && !h.joining(r) {
			return stateDegraded, r.Name + " on " + r.Node + ": " + c.Message
		}
	}
	if h.status.Sole != nil { // "ready" promises that either copy can be used
		return stateDegraded, fmt.Sprintf("replica %d on %s went on alone, and both copies have not confirmed yet that they are the same again", *h.status.Sole, soleNode(h.status))
	}
	return stateReady, ""
}

// outOfReach says that the one copy which has all acknowledged writes is not there.
func (h *health) outOfReach() string {
	if h.status.Sole == nil {
		return ""
	}
	for _, r := range h.replicas {
		res, up := r.resource()
		there := up && r.agent.Known() && (res.Disk() == drbd.UpToDate || res.Disk() == drbd.Consistent)
		if r.ID == *h.status.Sole && !there {
			return fmt.Sprintf("replica %d on %s went on alone and is not there: bring the node back; or, if its last writes may be lost, `rvol node fence %s --accept-stale`", r.ID, r.Node, r.Node)
		}
	}
	return ""
}

// leaving says what a volume that is being deleted waits for.
func (h *health) leaving() string {
	for a := range state.Under[*model.Attachment](h.view, h.volume.Name+"/") {
		return "in use on node " + a.Node
	}
	var on []string
	for _, r := range h.replicas {
		where := orNowhere(r.Node)
		if r.Node != "" && !r.agent.Known() {
			where += " (which does not report)"
		}
		on = append(on, where)
	}
	if len(on) == 0 {
		return "the last records are being removed"
	}
	return "waiting for " + strings.Join(on, ", ") + " to remove it"
}

// unconfigured says what a volume without a configuration waits for.
func (h *health) unconfigured() string {
	if _, ok := state.Get[*model.Class](h.view, h.volume.Class); !ok {
		return "class " + h.volume.Class + " does not exist"
	}
	cs, ok := state.Get[*model.ClassStatus](h.view, h.volume.Class)
	if ok && cs.Configuration != nil && h.status != nil && h.status.Restarts > 0 {
		n, name := h.status.Restarts, h.volume.Name
		if formation.GivenUp(h.status) {
			return fmt.Sprintf("Failed: given up after %d refusals in a row, the last: %s; it is tried again when the volume, its class, a node or its space changes, or at once with `rvol volume retry %s`",
				h.status.Refused, h.status.LastError, name)
		}
		return fmt.Sprintf("BackoffWait: formation ended without a volume %d times, and begins again within %s; at once with `rvol volume retry %s`; the last time: %s",
			n, formation.Delay(n), name, h.status.LastError)
	}
	if ok && cs.Configuration != nil {
		return "it has not been looked at yet"
	}
	why := "class " + h.volume.Class + " is not ready"
	if ok {
		if c, ok := cs.Conditions.Get("Ready"); ok && c.Message != "" {
			why += ": " + c.Message
		}
	}
	return why
}

// forming says what a new volume waits for.
func (h *health) forming() string {
	if h.status == nil || h.status.Configuration == nil {
		return h.unconfigured()
	}
	for _, r := range h.replicas {
		if c, ok := r.Conditions.Get("Scheduled"); ok && c.Status == model.False {
			return r.Name + ": " + c.Message
		}
	}
	if t := h.status.Formation; t != nil {
		if i := t.Active(); i >= 0 {
			return strings.TrimSuffix(t.Steps[i].Name+": "+t.Steps[i].Message, ": ")
		}
	}
	return "its replicas are being made"
}
