package formation

import (
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// bootstrap gives the volume its first data generation by one CreateNewUUID on one
// member, and waits until every Diskful is UpToDate and nobody Primary. Then the volume is formed, for ever.
func bootstrap(in Input) Outcome {
	rs := active(in)
	ds := diskful(rs)
	if len(ds) == 0 {
		return restart(in, "no Diskful replica is left")
	}
	want := operation(in, ds)
	limit := timeout(in, want)
	switch op := in.Operation; {
	case op == nil:
		if why := unready(in, rs); why != "" {
			return waitOr(in, stepTimeout, why) // a leader may have changed since the step before
		}
		return grant(in, want)
	case op.NewUUID == nil || op.NewUUID.Revision != in.Status.Datamesh.Revision:
		out := Outcome{Delete: []model.Object{op}, Cause: fmt.Sprintf("form %s: drop %s of an earlier formation", in.Volume.Name, op.Name)}
		return out
	case !sameOperation(op, want):
		return waitOr(in, stepTimeout, fmt.Sprintf("operation %s has other parameters than this formation needs", op.Name))
	case op.Phase == model.OperationFailed:
		return waitOr(in, stepTimeout, fmt.Sprintf("operation %s failed: %s", op.Name, op.Result))
	case op.Phase != model.OperationSucceeded:
		return waitOr(in, limit, fmt.Sprintf("operation %s on node %s is %s", op.Name, op.Node, op.Phase))
	}
	if why := upToDate(ds); why != "" {
		return waitOr(in, limit, why)
	}
	for _, why := range []string{inUse(ds), voting(in, rs)} {
		if why != "" {
			return Outcome{Wait: why} // the data is there: beginning again would gain nothing
		}
	}
	st := model.Clone(in.Status)
	out := advance(in, st, "all UpToDate: formed")
	st.Formed, st.Formation = true, nil
	st.Restarts, st.Refused, st.LastError = 0, 0, ""
	return out
}

// operation is the bootstrap this formation needs, on its lowest Diskful.
func operation(in Input, ds []Replica) *model.Operation {
	first := slices.MinFunc(ds, func(a, b Replica) int { return a.ID - b.ID })
	op := &model.Operation{
		Type: model.OperationCreateNewUUID, Node: first.Node, Volume: in.Volume.Name, Replica: first.ID,
		Phase: model.OperationPending,
		NewUUID: &model.NewUUIDParams{
			ClearBitmap: clearable(in, ds), Revision: in.Status.Datamesh.Revision,
		},
	}
	for _, p := range ds {
		if p.ID != first.ID {
			op.NewUUID.Peers = append(op.NewUUID.Peers, p.ID)
		}
	}
	slices.Sort(op.NewUUID.Peers)
	for _, b := range first.State.Backing {
		op.NewUUID.LVUUIDs = append(op.NewUUID.LVUUIDs, b.LVUUID)
	}
	op.Name = fmt.Sprintf("%s-formation-%d", in.Volume.Name, in.Status.Datamesh.Revision)
	op.UID, op.CreatedAt = first.UID, in.Now // a restart has new replicas
	return op
}

// clearable says whether all copies are known to read the same without a sync: a single
// copy, thin pools that hand out zeroed blocks, or thick volumes that were zeroed or are
// trusted to be.
func clearable(in Input, ds []Replica) bool {
	if len(ds) == 1 {
		return true
	}
	cfg := in.Status.Configuration
	if cfg.PoolType == model.LVM {
		return cfg.TrustZeroed || cfg.Wipe == "zero"
	}
	for _, r := range ds {
		for _, res := range r.Reservations {
			if !in.Zeroing(res.Pool) {
				return false
			}
		}
	}
	return true
}

// grant commits the operation; the committed entry is the permission to run it once.
func grant(in Input, op *model.Operation) Outcome {
	how := "force-resync"
	if op.NewUUID.ClearBitmap {
		how = "clear-bitmap"
	}
	return Outcome{
		Put:   []model.Object{op},
		Cause: fmt.Sprintf("form %s: new-current-uuid --%s on node %s", in.Volume.Name, how, op.Node),
	}
}

func sameOperation(a, b *model.Operation) bool {
	return a.Type == b.Type && a.Node == b.Node && a.Replica == b.Replica &&
		a.NewUUID.ClearBitmap == b.NewUUID.ClearBitmap &&
		slices.Equal(a.NewUUID.Peers, b.NewUUID.Peers) && slices.Equal(a.NewUUID.LVUUIDs, b.NewUUID.LVUUIDs)
}

// timeout allows a full sync of all devices at the worst-case rate.
func timeout(in Input, op *model.Operation) time.Duration {
	if op.NewUUID.ClearBitmap {
		return stepTimeout
	}
	var size int64
	for _, d := range in.Status.Datamesh.Devices {
		size += d.Size
	}
	return stepTimeout + time.Duration(size/syncRate)*time.Second
}

// voting says which tie-breaker does not stand ready.
func voting(in Input, rs []Replica) string {
	for _, r := range rs {
		if r.Type == model.Diskful {
			continue
		}
		for _, check := range []func(Input, []Replica) string{configured, connected} {
			if why := check(in, append(diskful(rs), r)); why != "" {
				return why
			}
		}
	}
	return ""
}

// inUse says which replica is Primary. A lone one of DRBD 8.4 is, for a moment, to get its first generation: whoever attached the
// formed volume then would be told that it is ready, and see it made Secondary.
func inUse(ds []Replica) string {
	for _, r := range ds {
		if r.Resource.Role == drbd.Primary {
			return fmt.Sprintf("replica %s is Primary still", name(r))
		}
	}
	return ""
}

func upToDate(ds []Replica) string {
	for _, r := range ds {
		if !r.Known {
			return unknown(r)
		}
		if disk := r.Resource.Disk(); disk != drbd.UpToDate {
			return fmt.Sprintf("replica %s is %s", name(r), disk)
		}
	}
	return ""
}
