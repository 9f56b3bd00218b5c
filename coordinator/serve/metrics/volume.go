package metrics

import (
	"cmp"
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/admin"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/probe"
)

// volumes is what is told of volumes: of all together, and of so many one by one.
type volumes struct {
	byState, leftOut, replicas, unplaced, attachments, transitions probe.Gauge

	state, size, copies, wanted, attached, standalone, sync probe.Gauge
}

func newVolumes(s *probe.Set) volumes {
	return volumes{
		byState:     s.Gauge("rvol_volumes", "Volumes, by how they are.", "state"),
		leftOut:     s.Gauge("rvol_metrics_volumes_left_out", "Volumes of which nothing is told one by one, because there are more than --metrics-volumes."),
		replicas:    s.Gauge("rvol_replicas", "Replicas, by type.", "type"),
		unplaced:    s.Gauge("rvol_replicas_unscheduled", "Replicas that no place was found for."),
		attachments: s.Gauge("rvol_attachments", "Attachments of volumes to nodes."),
		transitions: s.Gauge("rvol_volume_transitions", "Changes of formed volumes that are under way."),

		state:      s.Gauge("rvol_volume_state", "1 for the state that the volume is in, as rvol volume list tells it.", "volume", "state"),
		size:       s.Gauge("rvol_volume_size_bytes", "Usable size of all devices of the volume.", "volume"),
		copies:     s.Gauge("rvol_volume_copies_up_to_date", "Copies of the volume that are known to be UpToDate.", "volume"),
		wanted:     s.Gauge("rvol_volume_copies_wanted", "Copies that the volume is to have.", "volume"),
		attached:   s.Gauge("rvol_volume_attachments", "Attachments of the volume.", "volume"),
		standalone: s.Gauge("rvol_volume_standalone_replicas", "Replicas of the volume with a connection that DRBD has given up: it is StandAlone.", "volume"),
		sync:       s.Gauge("rvol_volume_sync_ratio", "How far the replica is that is furthest behind in copying; absent when none copies.", "volume"),
	}
}

func (m *cluster) readVolumes(ctx context.Context, out chan<- prometheus.Metric) error {
	answer, err := m.admin.volumes.List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err
	}
	all := answer.GetVolumes()
	m.sumUp(out, all)
	// What is not well is told first: a limit must not hide it.
	well := func(v *adminv1.Volume) int { return int(probe.One(v.GetState() == admin.StateReady)) }
	slices.SortStableFunc(all, func(a, b *adminv1.Volume) int { return cmp.Compare(well(a), well(b)) })
	told := all[:min(len(all), m.Volumes)]
	for _, v := range told {
		m.volume(out, v)
	}
	m.volumes.leftOut.Is(out, float64(len(all)-len(told)))
	return nil
}

// sumUp tells of all volumes together.
func (m *cluster) sumUp(out chan<- prometheus.Metric, all []*adminv1.Volume) {
	states, types := map[string]int{}, map[string]int{string(model.Diskful): 0, string(model.TieBreaker): 0, string(model.Access): 0}
	for _, s := range admin.States() {
		states[s] = 0
	}
	unplaced, attachments, transitions := 0, 0, 0
	for _, v := range all {
		states[v.GetState()]++
		attachments += len(v.GetAttachments())
		transitions += len(v.GetTransitions())
		for _, r := range v.GetReplicas() {
			types[r.GetType()]++
			if slices.ContainsFunc(r.GetConditions(), func(c *adminv1.Condition) bool {
				return c.GetType() == "Scheduled" && c.GetStatus() == string(model.False)
			}) {
				unplaced++
			}
		}
	}
	for s, n := range states {
		m.volumes.byState.Is(out, float64(n), s)
	}
	for t, n := range types {
		m.volumes.replicas.Is(out, float64(n), t)
	}
	m.volumes.unplaced.Is(out, float64(unplaced))
	m.volumes.attachments.Is(out, float64(attachments))
	m.volumes.transitions.Is(out, float64(transitions))
}

// volume tells of one.
func (m *cluster) volume(out chan<- prometheus.Metric, v *adminv1.Volume) {
	name, g := v.GetMeta().GetName(), m.volumes
	size, standalone := int64(0), 0
	for _, d := range v.GetDevices() {
		size += d.GetSize()
	}
	var behind *float64
	for _, r := range v.GetReplicas() {
		if standsAlone(v, r) {
			standalone++
		}
		if r.SyncPercent != nil && (behind == nil || *r.SyncPercent < *behind) {
			behind = r.SyncPercent
		}
	}
	g.state.Is(out, 1, name, v.GetState())
	g.size.Is(out, float64(size), name)
	g.copies.Is(out, float64(v.GetCopiesUpToDate()), name)
	g.wanted.Is(out, float64(v.GetCopiesWanted()), name)
	g.attached.Is(out, float64(len(v.GetAttachments())), name)
	g.standalone.Is(out, float64(standalone), name)
	if behind != nil {
		g.sync.Is(out, *behind/100, name)
	}
}

// standsAlone says that a replica has given up a connection. DRBD 8.4 shows no connection then.
func standsAlone(v *adminv1.Volume, r *adminv1.Replica) bool {
	copies := 0
	for _, other := range v.GetReplicas() {
		if other.GetType() == string(model.Diskful) && other.GetMeta().GetDeletingSince() == nil {
			copies++
		}
	}
	alone := r.GetConnection() == "-" && v.GetFormed() && copies > 1 && r.GetMeta().GetDeletingSince() == nil
	return alone || r.GetConnection() == string(drbd.StandAlone)
}
