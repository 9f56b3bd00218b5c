package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// storage is what is told of LVM.
func (m *machine) storage() {
	m.vgSize = m.Gauge("rvol_vg_size_bytes", "Size of the volume group.", "vg")
	m.vgFree = m.Gauge("rvol_vg_free_bytes", "Space of the volume group that no logical volume has.", "vg")
	m.poolSize = m.Gauge("rvol_thin_pool_size_bytes", "Size of the thin pool.", "vg", "thin_pool")
	m.poolData = m.Gauge("rvol_thin_pool_data_ratio", "How full the thin pool is; 1 is full.", "vg", "thin_pool")
	m.poolMetadata = m.Gauge("rvol_thin_pool_metadata_ratio", "How full the thin pool's metadata are; 1 is full.", "vg", "thin_pool")
}

func (m *machine) readStorage(out chan<- prometheus.Metric, f Facts) {
	for _, vg := range f.LVM.VGs {
		m.vgSize.Is(out, float64(vg.Extents*vg.ExtentSize), vg.Name)
		m.vgFree.Is(out, float64(vg.FreeExtents*vg.ExtentSize), vg.Name)
		for _, p := range vg.ThinPools {
			m.poolSize.Is(out, float64(p.Size), vg.Name, p.Name)
			if p.DataPercent >= 0 { // else it is not known
				m.poolData.Is(out, p.DataPercent/100, vg.Name, p.Name)
			}
			if p.MetadataPercent >= 0 {
				m.poolMetadata.Is(out, p.MetadataPercent/100, vg.Name, p.Name)
			}
		}
	}
}
