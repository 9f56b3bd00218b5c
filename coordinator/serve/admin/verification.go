package admin

import (
	"slices"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

// verificationOf is how far a comparison of copies is. replicas are those of its volume.
func verificationOf(v *model.Verification, replicas []replicaView) *adminv1.Verification {
	if v == nil {
		return nil
	}
	out := &adminv1.Verification{
		Phase: string(v.Phase), Source: int32(v.Source), Repair: v.Repair, StartedAt: timestamp(v.StartedAt), EndedAt: timestamp(v.EndedAt), Message: v.Message,
	}
	for _, c := range v.Copies {
		out.Copies = append(out.Copies, &adminv1.VerifiedCopy{
			Id: int32(c.ID), Compared: c.Compared, OutOfSync: c.OutOfSync, Repaired: c.Repaired, Message: c.Message, Percent: progress(v, c, replicas),
		})
	}
	return out
}

// progress is how much is done of what is being done with a copy, in percent, as DRBD tells
// the source; nil: nothing, or it does not tell.
func progress(v *model.Verification, c model.VerifiedCopy, replicas []replicaView) *float64 {
	i := slices.IndexFunc(replicas, func(r replicaView) bool { return r.ID == v.Source })
	if i < 0 || !v.Active() || !replicas[i].agent.Known() {
		return nil
	}
	source := replicas[i]
	res, _ := source.resource()
	for _, p := range res.Peers {
		if p.NodeID == c.ID || p.NodeID < 0 && source.onlyOther() == int32(c.ID) {
			return pairProgress(v.Phase, c, p)
		}
	}
	return nil
}

// pairProgress is that of the connection with the copy: of the device that is furthest behind when
// it is compared, of the bytes that differed when they are copied.
func pairProgress(phase model.VerificationPhase, c model.VerifiedCopy, p inventory.Peer) *float64 {
	var compared *float64
	left, copying := int64(0), false
	for _, d := range p.Devices {
		left += d.OutOfSync
		comparing := d.Replication.Comparing()
		copying = copying || d.Replication.Resyncing() && !comparing
		if comparing && d.DonePercent >= 0 && (compared == nil || d.DonePercent < *compared) {
			compared = &d.DonePercent
		}
	}
	switch {
	case phase == model.Comparing:
		return compared
	case copying && !c.Repaired && c.OutOfSync > 0:
		return new(max(0, 100*float64(c.OutOfSync-left)/float64(c.OutOfSync)))
	}
	return nil
}
