package decide

import (
	"slices"

	"rvol/drbd"
)

// Observed is what the machine holds, as far as it is known.
type Observed struct {
	DRBD      drbd.Version
	NoDRBD    string // why DRBD cannot be used; empty: it can
	NoLVM     string // why LVM cannot be used; empty: it can
	VGs       []VG
	LVs       []LV
	LVMError  string // why VGs and LVs are not complete; empty: they are
	Resources []drbd.Resource
	DRBDError string // why Resources is not complete; empty: it is
	// Files are the .res files of our folder, by resource.
	Files     map[string]string
	FileError string // why Files is not complete
	// Metadata is what is known of DRBD's metadata, by LV UUID. A volume
	// that is not here was not looked at.
	Metadata map[string]Metadata
	// Past is what happened to the pairs of the resource looked at since the stream of
	// events of that number began.
	Past   map[drbd.Pair]drbd.Past
	Stream int
	// Links are the symlinks to DRBD devices, by name below /dev.
	Links map[string]string
}

// A VG is a volume group.
type VG struct {
	Name, UUID     string
	ExtentSize     int64 // bytes
	Extents        int64
	FreeExtents    int64
	ForeignExtents int64 // taken by LVs of others
	Partial        bool
	Stale          string // why this is not how it is now; empty: it is
	ThinPools      []ThinPool
}

// A ThinPool is a thin pool of a VG.
type ThinPool struct {
	Name, UUID      string
	Size            int64   // bytes
	DataPercent     float64 // negative: unknown
	MetadataPercent float64 // negative: unknown
	Zeroes          bool
	ErrorWhenFull   bool
}

// An LV is a logical volume.
type LV struct {
	VG, VGUUID  string
	Name, UUID  string
	Size        int64 // bytes
	ThinPool    string
	Active      bool
	Open        bool
	Cluster     string // from our tags
	Reservation string // from our tags; empty: not ours
	Unfinished  bool   // ours, and its old blocks are not wiped yet
}

// Path is the LV's device node.
func (v LV) Path() string { return "/dev/" + v.VG + "/" + v.Name }

// Metadata is what a backing disk says of itself.
type Metadata struct {
	None    bool      // there is none
	Current drbd.UUID // data generation
	Device  drbd.UUID // what it was bound to; not known of an attached disk
	// Generations are all that are known of an attached disk.
	Generations drbd.Generations
	// Attached: read from the kernel, not from the disk.
	Attached bool
	Err      string // why it could not be read; nothing else is known then
}

// Resource finds a resource that is up.
func (o Observed) Resource(name string) (drbd.Resource, bool) {
	i := slices.IndexFunc(o.Resources, func(r drbd.Resource) bool { return r.Name == name })
	if i < 0 {
		return drbd.Resource{}, false
	}
	return o.Resources[i], true
}

// vg finds a volume group by UUID.
func (o Observed) vg(uuid string) (VG, bool) {
	i := slices.IndexFunc(o.VGs, func(v VG) bool { return v.UUID == uuid })
	if i < 0 {
		return VG{}, false
	}
	return o.VGs[i], true
}

// lv finds the volumes of a group that match.
func (o Observed) lv(vgUUID string, match func(LV) bool) (LV, bool) {
	for _, v := range o.LVs {
		if v.VGUUID == vgUUID && match(v) {
			return v, true
		}
	}
	return LV{}, false
}
