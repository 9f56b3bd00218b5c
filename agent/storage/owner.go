package storage

import "strings"

// An Owner is what our tags say of a logical volume.
type Owner struct {
	Cluster     string // "": not ours
	Reservation string
	Wiping      bool // it still shows an earlier owner's blocks: Create finishes it
}

// OwnerOf reads the tags of a logical volume.
func OwnerOf(tags []string) Owner {
	var o Owner
	for _, tag := range tags {
		if s, ok := strings.CutPrefix(tag, clusterTag); ok {
			o.Cluster = s
		}
		if s, ok := strings.CutPrefix(tag, reservationTag); ok {
			o.Reservation = s
		}
		o.Wiping = o.Wiping || tag == wipingTag
	}
	return o
}
