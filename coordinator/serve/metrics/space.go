package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/probe"
)

// space is what is told of each LVG and of each thin pool in it.
type space struct {
	size, limit, reserved, foreign, free, data, metadata, stopped probe.Gauge
}

func newSpace(s *probe.Set) space {
	gauge := func(name, help string) probe.Gauge {
		return s.Gauge("rvol_lvg_"+name, help+" Without a thin pool it is of the volume group itself.", "node", "vg", "thin_pool")
	}
	return space{
		size:     gauge("size_bytes", "Size of the LVG or thin pool."),
		limit:    gauge("limit_bytes", "Sum up to which reservations may grow."),
		reserved: gauge("reserved_bytes", "Sum of the reservations."),
		foreign:  gauge("foreign_bytes", "Taken by logical volumes that rvol did not create."),
		free:     gauge("free_bytes", "Limit less reservations, not below 0."),
		data:     gauge("data_ratio", "How full the thin pool is; 1 is full."),
		metadata: gauge("metadata_ratio", "How full the thin pool's metadata are; 1 is full."),
		stopped:  gauge("growth_stopped", "1 while reservations may not grow there."),
	}
}

func (m *cluster) readSpace(ctx context.Context, out chan<- prometheus.Metric) error {
	answer, err := m.admin.lvgs.List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err
	}
	g := m.space
	for _, lvg := range answer.GetLvgs() {
		for _, s := range lvg.GetSpaces() {
			at := []string{lvg.GetNode(), lvg.GetVg(), s.GetThinPool()}
			g.size.Is(out, float64(s.GetSize()), at...)
			g.limit.Is(out, float64(s.GetLimit()), at...)
			g.reserved.Is(out, float64(s.GetReserved()), at...)
			g.foreign.Is(out, float64(s.GetForeign()), at...)
			g.free.Is(out, float64(s.GetFree()), at...)
			g.stopped.Is(out, probe.One(s.GetGrowthStopped() != ""), at...)
			if s.DataPercent != nil {
				g.data.Is(out, s.GetDataPercent()/100, at...)
			}
			if s.MetadataPercent != nil {
				g.metadata.Is(out, s.GetMetadataPercent()/100, at...)
			}
		}
	}
	return nil
}
