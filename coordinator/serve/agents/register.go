package agents

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
)

// register writes down that a node's agent is here, and returns the epoch of that.
func (s *service) register(ctx context.Context, c door.Caller, h *agentv1.Hello) (epoch uint64, err error) {
	key := model.Key{Kind: model.KindNode, Name: h.GetNode()}
	if h.GetNode() != c.ID.Name {
		return 0, door.Refuse(model.ErrForbidden, key, fmt.Sprintf("%s may not speak for it", c.Actor()), "start the agent with the name it joined with")
	}
	if h.GetHostName() == "" {
		return 0, door.Invalid(key, "its agent does not say the host name, which DRBD needs")
	}
	where, err := s.where(h)
	if err != nil {
		return 0, fmt.Errorf("node %s: %w", h.GetNode(), err)
	}
	err = enroll.Again(ctx, s.Store, s.Proposer, func(v state.View) (*state.Build, error) {
		if _, ok := state.Get[*model.Node](v, h.GetNode()); !ok {
			return nil, door.NotFound(key)
		}
		if err := unlikeOthers(v, h.GetNode(), h.GetHostName(), where.addresses); err != nil {
			return nil, err
		}
		st := &model.NodeStatus{}
		st.Name = h.GetNode()
		if old, ok := state.Get[*model.NodeStatus](v, st.Name); ok {
			st = model.Clone(old)
		}
		away := !st.Ready
		st.Epoch++
		epoch = st.Epoch
		st.Ready, st.Reason, st.UpdatedBy, st.UpdatedAt = true, "its agent registered", "register", s.Clock()
		st.NotReadySince, st.Door = time.Time{}, ""
		if st.MachineID != "" && st.MachineID != h.GetMachineId() {
			st.Former = groupsOf(v, st.Name)
		}
		st.HostName, st.MachineID, st.BootID = h.GetHostName(), h.GetMachineId(), h.GetBootId()
		st.AgentVersion, st.Kernel = h.GetAgentVersion(), h.GetKernel()
		st.Capabilities = capabilities(h.GetCapabilities())
		if err := where.settle(st, h); err != nil {
			return nil, err
		}
		b := state.NewTxn(c.Actor(), fmt.Sprintf("node %s registers, epoch %d", st.Name, st.Epoch)).Put(st)
		if away {
			control.Returned(v, st.Name, b)
		}
		return b, nil
	})
	return epoch, err
}

// groupsOf are the UUIDs of the volume groups that a node offered, or has something in.
func groupsOf(v state.View, node string) []string {
	var out []string
	for l := range state.Under[*model.LVG](v, node+"/") {
		out = append(out, l.UUID)
	}
	for r := range v.ReplicasOn(node) {
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			out = append(out, res.Pool.VG)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unlikeOthers refuses a node that DRBD, on its peers, could not tell from another.
func unlikeOthers(v state.View, name, host string, addresses map[string]netip.Addr) error {
	for other := range state.All[*model.NodeStatus](v) {
		if other.Name == name {
			continue
		}
		key := model.Key{Kind: model.KindNode, Name: name}
		if other.HostName == host {
			return door.Refuse(model.ErrExists, key, fmt.Sprintf("its host name %s is that of node %s", host, other.Name), "give every node a host name of its own")
		}
		for network, a := range addresses {
			if other.Ready && other.Addresses[network] == a {
				return door.Refuse(model.ErrExists, key, fmt.Sprintf("its address %s is that of node %s", a, other.Name), "give every node an address of its own")
			}
		}
	}
	return nil
}
