package attachment

import (
	"fmt"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// alone says that a volume on DRBD 8.4 would be used without its other copy, which then
// may not take over; why says that this must not be.
func (d *draft) alone(u Use) (alone bool, why string) {
	if !arbiter.Applies(d.status) {
		return false, ""
	}
	switch res := u.Resource; {
	case !u.Known || len(res.Devices) == 0:
		return false, "no report of its copy from node " + u.Node
	case len(res.Peers) == 1 && res.Peers[0].Connection == drbd.Connected:
		return false, "" // the kernels see each other, and to it
	case res.Disk() != drbd.UpToDate && res.Disk() != drbd.Consistent:
		return false, fmt.Sprintf("the copy on node %s is %s, and the other one is not connected", u.Node, res.Disk())
	}
	r, _ := d.replicaOn(u.Node)
	granted := model.Clone(u.Attachment)
	granted.Granted = true
	in := arbiter.Input{
		Volume: d.Volume, Status: d.status, Replica: r.Replica, Reconciling: d.Reconciling,
		Attachments: []*model.Attachment{granted},
	}
	for _, other := range d.Uses {
		if other.Name != u.Name {
			in.Attachments = append(in.Attachments, other.Attachment)
		}
	}
	return d.status.Sole == nil, arbiter.Refuse(in)
}
