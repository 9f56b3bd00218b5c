package compare

import (
	"strconv"
	"strings"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
)

// Orphan says whether an LV of a node carries this cluster's tags and is known to no
// reservation. known is the reservation that its tag names, nil when there is none.
func Orphan(cluster, node string, vg inventory.VG, lv inventory.LV, known *model.Reservation) bool {
	if lv.Reservation == "" || lv.Cluster != cluster {
		return false
	}
	return known == nil || known.Pool.Node != node || known.Pool.VG != vg.UUID
}

// VolumeOfResource undoes model.ResourceName.
func VolumeOfResource(name string) (volume string, ours bool) {
	volume, ours = strings.CutPrefix(name, model.ResourceName(""))
	return volume, ours && volume != ""
}

// VolumeOfLV tells the volume that an LV has its name from, and which device and replica.
func VolumeOfLV(name string) (volume string, of LV) {
	rest, ours := strings.CutPrefix(name, model.ResourceName(""))
	parts := strings.Split(rest, ".")
	if !ours || len(parts) != 3 {
		return "", LV{}
	}
	device, errD := strconv.Atoi(parts[1])
	id, errR := strconv.Atoi(parts[2])
	if errD != nil || errR != nil {
		return "", LV{}
	}
	return parts[0], LV{Device: device, Replica: id}
}

// LV is which device of which replica an LV is for.
type LV struct{ Device, Replica int }
