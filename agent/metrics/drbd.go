package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"rvol/drbd"
	"rvol/proto/probe"
)

// drbd is what is told of DRBD.
func (m *machine) drbd() {
	m.roles = m.Gauge("rvol_drbd_resources", "DRBD resources that are up, by role.", "role")
	m.disks = m.Gauge("rvol_drbd_disks", "Devices of DRBD resources, by the state of their disk.", "state")
	m.connections = m.Gauge("rvol_drbd_connections", "Connections of DRBD resources, by state.", "state")
	m.suspended = m.Gauge("rvol_drbd_suspended_resources", "DRBD resources whose I/O is frozen.")
	m.inquorate = m.Gauge("rvol_drbd_devices_without_quorum", "Devices of DRBD resources that have no quorum.")
	m.outOfSync = m.Gauge("rvol_drbd_out_of_sync_bytes", "Sum over all devices and peers of what the two do not have in common.")
	m.syncing = m.Gauge("rvol_drbd_syncing_devices", "Devices, counted for each peer, that are being copied or compared.")
	m.progress = m.Gauge("rvol_drbd_sync_ratio", "How far the device is that is furthest behind in copying; absent when none is.", "resource")
}

// counts are how many there are of each state; those that DRBD has by name are told when there is
// none, too.
func counts[T ~string](states ...T) map[T]int {
	n := map[T]int{}
	for _, s := range states {
		n[s] = 0
	}
	return n
}

func tell[T ~string](out chan<- prometheus.Metric, g probe.Gauge, n map[T]int) {
	for s, n := range n {
		g.Is(out, float64(n), string(s))
	}
}

// sums are what is counted over all resources.
type sums struct {
	roles       map[drbd.Role]int
	disks       map[drbd.DiskState]int
	connections map[drbd.ConnState]int

	suspended, inquorate, syncing int
	outOfSync                     int64
}

func (m *machine) readDRBD(out chan<- prometheus.Metric, f Facts) {
	s := sums{
		roles: counts(drbd.Primary, drbd.Secondary),
		disks: counts(drbd.Diskless, drbd.Attaching, drbd.Detaching, drbd.Failed, drbd.Negotiating, drbd.Inconsistent, drbd.Outdated,
			drbd.Consistent, drbd.UpToDate),
		connections: counts(drbd.StandAlone, drbd.Disconnecting, drbd.Unconnected, drbd.Timeout, drbd.BrokenPipe, drbd.NetworkFailure,
			drbd.ProtocolError, drbd.TearDown, drbd.Connecting, drbd.Connected),
	}
	for _, r := range f.DRBD.Resources {
		want, ours := f.Order.Resource(r.Name)
		if len(r.Peers) == 0 && ours && want.Arbitrated() && !want.Down {
			s.connections[drbd.StandAlone]++ // DRBD 8.4 shows no connection then
		}
		if least := s.add(r); least != nil {
			m.progress.Is(out, *least/100, r.Name)
		}
	}
	tell(out, m.roles, s.roles)
	tell(out, m.disks, s.disks)
	tell(out, m.connections, s.connections)
	m.suspended.Is(out, float64(s.suspended))
	m.inquorate.Is(out, float64(s.inquorate))
	m.outOfSync.Is(out, float64(s.outOfSync))
	m.syncing.Is(out, float64(s.syncing))
}

// add counts one resource, and returns how many percent are done of what is furthest behind; nil:
// nothing is being copied.
func (s *sums) add(r drbd.Resource) (least *float64) {
	s.roles[r.Role]++
	if r.Suspended.Any() {
		s.suspended++
	}
	for _, d := range r.Devices {
		s.disks[d.Disk]++
		if !d.Quorum {
			s.inquorate++
		}
	}
	for _, p := range r.Peers {
		s.connections[p.Conn]++
		for _, d := range p.Devices {
			s.outOfSync += d.OutOfSync
			if d.Repl.Resyncing() {
				s.syncing++
				if !d.Repl.Comparing() && (least == nil || d.Done < *least) {
					least = &d.Done
				}
			}
		}
	}
	return least
}
