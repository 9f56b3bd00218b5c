package transition

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// The type of a resize, its plan, and its steps.
const (
	ResizeVolume = "ResizeVolume"
	ResizePlan   = "resize/v1"
	GrowBacking  = "GrowBacking" // every LV grows to what was reserved
	ResizeDRBD   = "ResizeDRBD"  // one member lets DRBD take the new size, on all
)

// Resized is the condition that says how the last resize ended.
const Resized = "Resized"

// growTimeout is how long the LVs may take to grow before the resize is given up.
const growTimeout = 10 * time.Minute

var resizeV1 = plan{
	name: ResizePlan, kind: ResizeVolume,
	steps: []step{
		{
			name: GrowBacking, guards: []guard{healthy}, concerns: hasDisk,
			confirm: lvGrown, fails: lvFailed, timeout: growTimeout,
		},
		{
			name: ResizeDRBD, guards: []guard{healthy}, concerns: hasDisk,
			enter: chooseMember, confirm: deviceGrown, final: true,
		},
	},
	finish: resized, giveUp: notResized,
}

// StartResize reserves what every copy needs to grow, or says why it may not. backing is
// what a device of so many bytes needs in the pool of a reservation.
func StartResize(in Input, to []model.VolumeDevice, backing func(int64, *model.Reservation) int64) (Outcome, error) {
	devices, grows, err := targets(in.Volume, to)
	if err != nil || !grows {
		return Outcome{}, err
	}
	if err := mayStart(in, false); err != nil {
		return Outcome{}, err
	}
	t := resizeV1.start(in.Now, "", []model.TransitionStep{{Name: GrowBacking}, {Name: ResizeDRBD}})
	t.Devices = devices
	d := &draft{status: model.Clone(in.Status)}
	for _, m := range in.diskful() {
		for _, r := range m.Reservations {
			next := model.Clone(r)
			next.Pending = max(r.Granted, backing(sizeOf(devices, r.Device), r))
			d.put = append(d.put, next)
		}
	}
	d.status.Transitions = append(d.status.Transitions, t)
	d.status.Conditions = d.status.Conditions.Without(Resized)
	return d.outcome(fmt.Sprintf("resize %s to %s: reserve", in.Volume.Name, sizes(devices))), nil
}

// targets are the sizes of all devices after the resize.
func targets(vol *model.Volume, to []model.VolumeDevice) (out []model.VolumeDevice, grows bool, err error) {
	asked := map[int]int64{}
	for _, d := range to {
		size, err := model.CheckSize(d.Size)
		if err != nil {
			return nil, false, err
		}
		if _, twice := asked[d.Number]; twice {
			return nil, false, fmt.Errorf("%w: device %d is named twice", model.ErrInvalid, d.Number)
		}
		asked[d.Number] = size
	}
	var sum int64
	for _, d := range vol.Devices {
		size, named := asked[d.Number]
		delete(asked, d.Number)
		switch {
		case named && size < d.Size:
			return nil, false, fmt.Errorf("%w: device %d has %s, %s were asked for: a volume is never made smaller, for what uses it would lose its end; make a smaller one and copy",
				model.ErrInvalid, d.Number, model.HumanSize(d.Size), model.HumanSize(size))
		case named && size > d.Size:
			d.Size, grows = size, true
		}
		sum += d.Size
		out = append(out, d)
	}
	for n := range asked {
		return nil, false, fmt.Errorf("%w: it has no device %d", model.ErrInvalid, n)
	}
	if sum > model.MaxSize {
		return nil, false, fmt.Errorf("%w: its devices would have %s together: more than 1 PiB", model.ErrInvalid, model.HumanSize(sum))
	}
	return out, grows, nil
}

func sizeOf(devices []model.VolumeDevice, number int) int64 {
	for _, d := range devices {
		if d.Number == number {
			return d.Size
		}
	}
	return 0
}

func sizes(devices []model.VolumeDevice) string {
	var all []string
	for _, d := range devices {
		all = append(all, model.HumanSize(d.Size))
	}
	return strings.Join(all, ", ")
}

// Growing says that the agents are to let the LVs grow to what is pending.
func Growing(vs *model.VolumeStatus) bool {
	for i := range vs.Transitions {
		t := &vs.Transitions[i]
		if s := t.Step(GrowBacking); t.Plan == ResizePlan && t.Abort == "" && s != nil && s.Status != model.StepPending {
			return true
		}
	}
	return false
}

// ResizeTo is the size that replica id is to let DRBD take for a device; 0: it is not.
func ResizeTo(vs *model.VolumeStatus, id, device int) int64 {
	for i := range vs.Transitions {
		t := &vs.Transitions[i]
		s := t.Step(ResizeDRBD)
		if t.Plan == ResizePlan && s != nil && s.Status == model.StepActive && t.Member != nil && *t.Member == id {
			return sizeOf(t.Devices, device)
		}
	}
	return 0
}

func hasDisk(_ at, m Member) bool { return m.Type == model.Diskful }

// healthy demands that every Diskful is Connected and UpToDate, and nothing resyncs: DRBD
// refuses to resize else, or would leave a member behind.
func healthy(a at) string {
	disks := a.diskful()
	ids := map[int]bool{}
	for _, m := range disks {
		ids[m.ID] = true
	}
	for _, m := range disks {
		if ill := cmp.Or(illDisk(m), illPeers(m, ids)); ill != "" {
			return fmt.Sprintf("replica %s: %s", name(m), ill)
		}
	}
	return ""
}

func illDisk(m Member) string {
	switch {
	case !m.Known:
		return "no report of its node"
	case !m.Up:
		return "DRBD is not up"
	case m.Resource.Disk() != drbd.UpToDate:
		return fmt.Sprintf("its disk is %s, want UpToDate", m.Resource.Disk())
	}
	return ""
}

// illPeers looks at the connections to the other replicas with a disk: ids are theirs and
// the member's own.
func illPeers(m Member, ids map[int]bool) string {
	met := 0
	for _, p := range m.Resource.Peers {
		if p.NodeID != int(drbd.NoNode) && !ids[p.NodeID] {
			continue // diskless
		}
		met++
		if p.Connection != drbd.Connected {
			return fmt.Sprintf("a connection is %s, want Connected", p.Connection)
		}
		for _, d := range p.Devices {
			if d.Replication != drbd.Established || d.Disk != drbd.UpToDate {
				return fmt.Sprintf("a peer is %s and %s, want Established and UpToDate", d.Replication, d.Disk)
			}
		}
	}
	if met < len(ids)-1 {
		return fmt.Sprintf("it knows %d of its %d peers with a disk", met, len(ids)-1)
	}
	return ""
}

// lvGrown confirms when the agent has grown the LV and cleared what an old owner may have
// left where DRBD's metadata will be.
func lvGrown(_ at, m Member) string {
	if m.State.Error != "" {
		return m.State.Error
	}
	for _, r := range m.Reservations {
		if b := m.backing(r.Device); b.LVSize < r.Pending {
			return fmt.Sprintf("LV %s has %s of %s", r.LV, model.HumanSize(b.LVSize), model.HumanSize(r.Pending))
		}
	}
	return ""
}

func lvFailed(m Member) string {
	if m.State.Definite && m.State.Error != "" {
		return m.State.Error
	}
	return ""
}

// chooseMember picks who lets DRBD grow: who uses the volume, or the first.
func chooseMember(a at, d *draft) {
	disks := a.diskful()
	id := disks[0].ID
	for _, m := range disks {
		if m.Resource.Role == drbd.Primary {
			id = m.ID
			break
		}
	}
	d.transition().Member = &id
}

// deviceGrown confirms when the kernel's device has the new size.
func deviceGrown(a at, m Member) string {
	for _, want := range a.change().Devices {
		if got := m.size(want.Number); got < want.Size {
			why := fmt.Sprintf("DRBD's device %d has %s of %s", want.Number, model.HumanSize(got), model.HumanSize(want.Size))
			if m.State.Error != "" {
				why += ": " + m.State.Error
			}
			return why
		}
	}
	return ""
}

// resized makes the new sizes those of the volume, and what was pending granted.
func resized(in Input, d *draft) {
	devices := d.transition().Devices
	vol := model.Clone(in.Volume)
	vol.Devices = devices
	vol.Generation++
	d.put = append(d.put, vol)
	for _, m := range in.diskful() {
		for _, r := range m.Reservations {
			next := model.Clone(r)
			next.Granted, next.Pending = max(r.Granted, r.Pending), 0
			d.put = append(d.put, next)
		}
	}
	d.status.Datamesh.Devices = devices
	d.status.Conditions = d.status.Conditions.With(model.Condition{
		Type: Resized, Status: model.True, Reason: "Resized", Message: "it has " + sizes(devices),
	}, in.Now)
}

// notResized gives back what was not used. An LV that has grown stays as it is, and is
// charged for: nothing is ever cut off.
func notResized(in Input, d *draft) {
	for _, m := range in.diskful() {
		for _, r := range m.Reservations {
			next := model.Clone(r)
			next.Pending = 0
			next.Observed = max(r.Observed, m.backing(r.Device).LVSize)
			d.put = append(d.put, next)
		}
	}
	d.status.Conditions = d.status.Conditions.With(model.Condition{
		Type: Resized, Status: model.False, Reason: "ResizeFailed", Message: d.transition().Abort,
	}, in.Now)
}
