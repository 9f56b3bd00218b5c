package cases

import (
	"errors"
	"fmt"
	"io"

	"rvol/coordinator/decide/internal/jsonl"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// Cases reads cases from r and writes, for each, every replica after one pass to w.
// It fails with the number of the first line that cannot be read.
func Cases(r io.Reader, w io.Writer) error {
	return jsonl.Answer(r, w, answer)
}

func answer(c testCase) (result, error) {
	if c.Input == nil {
		return result{}, errors.New("has no input")
	}
	in, err := c.Input.decision()
	if err != nil {
		return result{}, err
	}
	scheduled := map[int]bool{}
	for _, r := range c.Input.Replicas {
		scheduled[r.ID] = r.HasScheduledTrue
	}
	out := result{Name: c.Name, Replicas: []outcome{}}
	for _, p := range scheduling.Run(in).Replicas {
		out.Replicas = append(out.Replicas, outcomeOf(p, scheduled[p.ID]))
	}
	return out, nil
}

func outcomeOf(p scheduling.Placement, wasScheduled bool) outcome {
	o := outcome{
		ID: p.ID, Node: p.Place.Node, LVG: p.Place.LVG, ThinPool: p.Place.ThinPool,
		Scheduled: string(p.Scheduled), Reason: p.Reason, Message: p.Message,
	}
	if p.Scheduled == scheduling.Unchanged {
		o.Scheduled = string(scheduling.Absent)
		if wasScheduled {
			o.Scheduled, o.Reason = string(scheduling.True), scheduling.ReasonScheduled
		}
	}
	return o
}

// decision is the input of the decision that a case asks for.
func (in *input) decision() (scheduling.Input, error) {
	out := scheduling.Input{
		Mode:         scheduling.Cases,
		Missing:      in.missing(),
		Layout:       layout.Formula(in.FTT, in.GMDR),
		VolumeAccess: scheduling.VolumeAccess(in.VolumeAccess),
		Size:         in.SizeBytes,
		AttachTo:     in.AttachTo,
	}
	var err error
	if out.Topology, err = layout.ParseTopology(in.Topology); err != nil {
		return out, err
	}
	switch in.PoolType {
	case "LVM", "":
	case "LVMThin":
		out.Thin = true
	default:
		return out, fmt.Errorf("pool_type %q is unknown: use LVM or LVMThin", in.PoolType)
	}
	if in.SizeBytes < 0 {
		return out, fmt.Errorf("size_bytes is %d", in.SizeBytes)
	}
	if err := inRange(in.FTT, in.GMDR); err != nil {
		return out, err
	}
	out.Replicas, err = in.replicas()
	out.Candidates = scheduling.Prepare(in.nodes())
	return out, err
}

func inRange(ftt, gmdr int) error {
	for _, n := range []int{ftt, gmdr} {
		if n < 0 || n > layout.MaxFailures {
			return fmt.Errorf("ftt is %d, gmdr is %d, both must be 0 to %d", ftt, gmdr, layout.MaxFailures)
		}
	}
	return nil
}

func (in *input) missing() scheduling.Missing {
	switch {
	case in.VolumeMissing:
		return scheduling.VolumeMissing
	case in.ConfigurationMissing:
		return scheduling.ConfigurationMissing
	case in.PoolMissing:
		return scheduling.PoolMissing
	}
	return scheduling.NothingMissing
}

const maxID = 31

func (in *input) replicas() ([]scheduling.Replica, error) {
	seen := map[int]bool{}
	replicas := make([]scheduling.Replica, len(in.Replicas))
	for i, r := range in.Replicas {
		if r.ID < 0 || r.ID > maxID || seen[r.ID] {
			return nil, fmt.Errorf("replica id %d: ids are 0 to %d, each once", r.ID, maxID)
		}
		seen[r.ID] = true
		replicas[i] = scheduling.Replica{
			ID: r.ID, Type: scheduling.ReplicaType(r.Type), Deleting: r.Deleting, CreatedAt: int64(r.ID),
			Place: scheduling.Place{Node: r.Node, LVG: r.LVG, ThinPool: r.ThinPool},
		}
		if r.CreatedAt != nil {
			replicas[i].CreatedAt = *r.CreatedAt
		}
	}
	return replicas, nil
}

type key struct{ lvg, thinPool string }

func (in *input) nodes() []scheduling.Node {
	given := map[key]int64{}
	if in.Scores != nil {
		for _, s := range *in.Scores {
			given[key{s.LVG, s.ThinPool}] = s.Score
		}
	}
	nodes := make([]scheduling.Node, len(in.Nodes))
	for i, n := range in.Nodes {
		nodes[i] = scheduling.Node{
			Name: n.Name, Zone: n.Zone, Ready: n.Ready, AgentReady: n.AgentReady, Unschedulable: n.Unschedulable,
		}
		for _, l := range n.LVGs {
			capacity := l.capacity()
			if in.Scores != nil {
				capacity = scheduling.Score(given[key{l.Name, l.ThinPool}])
			}
			nodes[i].LVGs = append(nodes[i].LVGs, scheduling.LVG{
				Name: l.Name, ThinPool: l.ThinPool, Ready: l.Ready, Unschedulable: l.Unschedulable, Capacity: capacity,
			})
		}
	}
	return nodes
}

func (l lvg) capacity() scheduling.Capacity {
	available := minus(min(minus(minus(l.TotalBytes, l.AllocatedBytes), l.UnaccountedBytes), l.FreeBytes), l.ReservedBytes)
	return scheduling.Room(available, l.TotalBytes)
}

// minus is a - b, held at the smallest and the largest number.
func minus(a, b int64) int64 {
	d := a - b
	switch {
	case a >= 0 && b < 0 && d < 0:
		return 1<<63 - 1
	case a < 0 && b > 0 && d > 0:
		return -1 << 63
	}
	return d
}
