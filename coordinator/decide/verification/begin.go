package verification

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Copy is a member with a disk, and what is known of it.
type Copy struct {
	*model.Replica
	Known    bool // its node's report can be relied on
	Fenced   bool
	Resource inventory.Resource
}

// Input is everything a decision may look at. Records are shared: copies are changed only.
type Input struct {
	Volume    *model.Volume
	Status    *model.VolumeStatus
	Copies    []Copy           // members with a disk, sorted by id
	Operation *model.Operation // the volume's, of this kind; nil: none
	Every     time.Duration    // of its class; 0: only when somebody says so
	Busy      map[string]int   // other volumes that are being compared, by node
	Now       time.Time
}

// MaxPerNode is how many volumes are compared on a node at a time, of those that nobody
// asked for: comparing reads both disks from end to end.
const MaxPerNode = 1

// Request is what somebody asks for.
type Request struct {
	From   *int // the copy to compare with; nil: the one in use, or else the first
	Repair bool
}

// Begin begins to compare.
func Begin(in Input, r Request) (*model.VolumeStatus, error) {
	if v := in.Status.Verification; v.Active() {
		return nil, busy("it is being compared already: `rvol volume show %s` tells how far it is", in.Volume.Name)
	}
	if why := obstacle(in); why != "" {
		return nil, busy("%s", why)
	}
	source, err := source(in, r)
	if err != nil {
		return nil, err
	}
	v := &model.Verification{Phase: model.Comparing, Source: source, Repair: r.Repair, StartedAt: in.Now}
	for _, c := range in.Copies {
		if c.ID != source {
			v.Copies = append(v.Copies, model.VerifiedCopy{ID: c.ID})
		}
	}
	next := model.Clone(in.Status)
	next.Verification = v
	return next, nil
}

// source is the copy that the others are compared with. Over a copy in use nothing is ever
// copied; which one is right when nobody uses any cannot be known.
func source(in Input, r Request) (int, error) {
	used, isUsed := in.used()
	switch {
	case r.From == nil && isUsed:
		return used.ID, nil
	case r.From == nil && r.Repair:
		return 0, fmt.Errorf("%w: nobody uses the volume, so which copy is right when two differ cannot be told: say --from ID", model.ErrInvalid)
	case r.From == nil:
		return in.Copies[0].ID, nil
	case r.Repair && isUsed && used.ID != *r.From:
		return 0, busy("replica %d on %s is in use, and nothing is copied over what is in use: copy from it (--from %d), or detach the volume first", used.ID, used.Node, used.ID)
	case !slices.ContainsFunc(in.Copies, func(c Copy) bool { return c.ID == *r.From }):
		return 0, fmt.Errorf("%w: it has no copy %d", model.ErrInvalid, *r.From)
	}
	return *r.From, nil
}

// used is a copy whose node uses the volume.
func (in Input) used() (Copy, bool) {
	for _, c := range in.Copies {
		if c.Known && c.Resource.Role == drbd.Primary {
			return c, true
		}
	}
	return Copy{}, false
}

// obstacle says why copies cannot be compared now: all must be there, UpToDate and at rest.
func obstacle(in Input) string {
	switch {
	case in.Volume.Deleting():
		return "it is being deleted"
	case in.Volume.Stopped:
		return "it is stopped"
	case !in.Status.Formed:
		return "it is not formed yet"
	case len(in.Copies) < 2:
		return "it has one copy: there is nothing to compare it with"
	case len(in.Status.Transitions) > 0:
		return "it is being changed: " + in.Status.Transitions[0].Title
	}
	for _, c := range in.Copies {
		if why := c.unfit(len(in.Copies) - 1); why != "" {
			return fmt.Sprintf("replica %d on %s %s", c.ID, c.Node, why)
		}
	}
	return ""
}

// unfit says why a copy cannot be compared with so many others now.
func (c Copy) unfit(others int) string {
	switch {
	case !c.Known:
		return "does not report"
	case c.Resource.Disk() != drbd.UpToDate:
		return fmt.Sprintf("is %s", c.Resource.Disk())
	}
	met := 0
	for _, p := range c.Resource.Peers {
		with := p.Connection == drbd.Connected
		for _, d := range p.Devices {
			if d.Replication.Resyncing() {
				return "is being copied"
			}
			with = with && d.Disk == drbd.UpToDate
		}
		if with {
			met++
		}
	}
	if met < others {
		return fmt.Sprintf("is connected with %d of %d other copies", met, others)
	}
	return ""
}

// retryAfter is how long after a verification that was cut short the next one comes, at most.
const retryAfter = time.Hour

// Due is when a volume is to be compared again; false: only when somebody says so. Volumes
// that were made at the same time are spread over an eighth of the period, each always in the
// same way. What is said to have happened more than a period after now was written down by a
// clock that was wrong: then nobody knows how long ago it was.
func Due(vol *model.Volume, vs *model.VolumeStatus, every time.Duration, now time.Time) (time.Time, bool) {
	if every <= 0 || vol.Deleting() || vs.Verification.Active() {
		return time.Time{}, false
	}
	last := vol.CreatedAt
	if v := vs.Verification; v != nil {
		last = v.EndedAt
		if v.Message != "" {
			every = min(every, retryAfter)
		}
	}
	if last.Sub(now) > every {
		return now, true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(vol.UID + vol.Name)) // never fails
	spread := every / 8
	return last.Add(every - time.Duration(float64(spread)*float64(h.Sum32())/float64(1<<32))), true
}

// crowded says on which node enough is being compared.
func crowded(in Input) string {
	for _, c := range in.Copies {
		if in.Busy[c.Node] >= MaxPerNode {
			return fmt.Sprintf("%d volumes are being compared on node %s", in.Busy[c.Node], c.Node)
		}
	}
	return ""
}

func busy(format string, args ...any) error {
	return fmt.Errorf("%w: %s", model.ErrBusy, fmt.Sprintf(format, args...))
}
