package agents

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	agentv1 "rvol/proto/agent/v1"
)

// whereabouts is where an agent says that its node is reached.
type whereabouts struct {
	addresses map[string]netip.Addr // by network; those that the machine has now
	health    netip.AddrPort        // the agent's own door
}

// where reads them, and refuses what others could not reach whoever has it.
func (s *service) where(h *agentv1.Hello) (w whereabouts, err error) {
	if w.addresses, err = s.addresses(h.GetAddresses()); err == nil {
		w.health, err = s.health(h.GetHealth())
	}
	return w, err
}

// settle writes down where a node is reached that registers. At first its machine must have all of it; later it keeps what it
// registered with and lacks for now: its copies stay where they are, and a condition tells.
func (w whereabouts) settle(st *model.NodeStatus, h *agentv1.Hello) error {
	key, first := model.Key{Kind: model.KindNode, Name: st.Name}, st.Epoch == 1
	before := st.Addresses
	if first {
		before = nil // what it joined with
	}
	addresses, err := w.complete(key, before, h.GetMissing())
	if err != nil {
		return err
	}
	if !w.health.IsValid() && first {
		return door.Refuse(model.ErrInvalid, key, "its agent has no health door, at which coordinators ask whether it lives", "install the version of the coordinators there")
	}
	known := append(slices.Collect(maps.Values(addresses)), st.Health.Addr())
	if why := h.GetHealthError(); why != "" && (first || !slices.Contains(known, w.health.Addr())) {
		return door.Refuse(model.ErrInvalid, key, fmt.Sprintf("its agent's health door %s is not open: %s", w.health, why),
			"name another address of the machine: RVOL_AGENT_HEALTH=IP:PORT in /etc/rvol/agent.env")
	}
	st.Addresses, st.Health = addresses, w.health
	return nil
}

// complete adds the addresses that a node had before and its machine lacks for now.
func (w whereabouts) complete(key model.Key, before map[string]netip.Addr, missing map[string]string) (map[string]netip.Addr, error) {
	all := maps.Clone(w.addresses)
	if len(all) == 0 && len(missing) == 0 {
		all = maps.Clone(before) // an agent of before says only what is there
	}
	for _, network := range slices.Sorted(maps.Keys(missing)) {
		a, ok := before[network]
		if !ok {
			return nil, door.Refuse(model.ErrInvalid, key, fmt.Sprintf("its replication address of network %s is not there: %s", network, missing[network]),
				"see that an interface of the machine has it")
		}
		all[network] = a
	}
	if len(all) == 0 {
		return nil, door.Refuse(model.ErrInvalid, key, "its agent names no replication address, by which peers reach it",
			"give one with `rvol-agent join --address NETWORK=IP`, and see that an interface of the machine has it")
	}
	return all, nil
}

// addresses reads replication addresses, and refuses those that peers could not reach.
func (s *service) addresses(texts map[string]string) (map[string]netip.Addr, error) {
	out := map[string]netip.Addr{}
	for network, text := range texts {
		if err := model.CheckName("network", network, model.MaxName); err != nil {
			return nil, err
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%w: address %q of network %s: want an IP address", model.ErrInvalid, text, network)
		}
		a = a.Unmap()
		if why := s.unreachable(a); why != "" {
			return nil, fmt.Errorf("%w: address %s of network %s %s: peers cannot reach it: configure the agent with the replication address", model.ErrInvalid, text, network, why)
		}
		out[network] = a
	}
	return out, nil
}

// health reads the address of the agent's own door; an agent of before has none.
func (s *service) health(text string) (netip.AddrPort, error) {
	if text == "" {
		return netip.AddrPort{}, nil
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil || a.Port() == 0 {
		return a, fmt.Errorf("%w: health door %q: want IP:PORT: set RVOL_AGENT_HEALTH in the node's /etc/rvol/agent.env", model.ErrInvalid, text)
	}
	a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	if why := s.unreachable(a.Addr()); why != "" {
		return a, fmt.Errorf("%w: health door %s %s: coordinators cannot reach it: set RVOL_AGENT_HEALTH in the node's /etc/rvol/agent.env to an address of the machine", model.ErrInvalid, text, why)
	}
	return a, nil
}

// unreachable says why other machines cannot reach an address, whoever has it; empty: they may.
func (s *service) unreachable(a netip.Addr) string {
	switch {
	case a.IsUnspecified():
		return "is no particular address"
	case a.IsMulticast():
		return "is a multicast address"
	case a.Zone() != "" || a.IsLinkLocalUnicast():
		return "is link-local"
	case a.IsLoopback() && !s.Loopback:
		return "is a loopback address"
	}
	return ""
}
