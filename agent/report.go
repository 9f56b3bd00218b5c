package agent

import (
	"cmp"
	"slices"
	"strings"

	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/drbd"
)

func (a *agent) hello() decide.Hello {
	d, _ := a.journal.Order()
	addresses, missing := a.Addresses.Present()
	a.health.look()
	return decide.Hello{
		Node: a.Node, HostName: a.Machine.HostName, MachineID: a.Machine.MachineID, BootID: a.Machine.BootID,
		AgentVersion: a.Version, Kernel: a.Machine.Kernel, Addresses: addresses,
		Capabilities: a.capabilities(a.lvm.View(), a.drbd.ViewOf("")), Accepted: d.Order,
		Missing: missing, Health: a.health.text(), HealthError: a.health.trouble(),
	}
}

func (a *agent) report() decide.Report {
	order, _ := a.journal.Order()
	states, released := a.engine.States()
	l, d := a.lvm.View(), a.drbd.View() // after what was made of them: nothing that is told of is missing here
	addresses, _ := a.Addresses.Present()
	return decide.Report{
		VGs: l.VGs, LVs: l.LVs, StorageError: join(l.Missing, l.Err),
		Resources: d.Resources, DRBDError: join(d.Missing, d.Err), DRBD84: d.Version.Is84(), Files: a.engine.Files(),
		Replicas: states, Released: released,
		Conditions: a.conditions(l), Capabilities: a.capabilities(l, d),
		Addresses: addresses, Accepted: order.Order, Kept: stillHeld(a.journal.Kept(), l, d),
	}
}

// stillHeld leaves out what the machine does not hold any more.
func stillHeld(kept []decide.Resource, l observe.LVMView, d observe.DRBDView) []decide.Resource {
	return slices.DeleteFunc(kept, func(r decide.Resource) bool {
		up := slices.ContainsFunc(d.Resources, func(o drbd.Resource) bool { return o.Name == r.Name })
		return !up && !slices.ContainsFunc(l.LVs, func(v decide.LV) bool {
			return slices.ContainsFunc(r.Devices, func(dev decide.Device) bool { return dev.Backing != nil && dev.Backing.Reservation == v.Reservation })
		})
	})
}

func join(texts ...string) string {
	var some []string
	for _, t := range texts {
		if t != "" {
			some = append(some, t)
		}
	}
	return strings.Join(some, "; ")
}

// capabilities says what this node can do. A node that lacks something is a
// node all the same.
func (a *agent) capabilities(l observe.LVMView, d observe.DRBDView) decide.Capabilities {
	c := decide.Capabilities{DRBDReason: d.Missing, LVMReason: l.Missing}
	switch v := d.Version; {
	case d.Missing != "":
	case !d.Seen:
		c.DRBDReason = "not observed yet"
	case v.Is84():
		c.DRBD, c.DRBDFull, c.MaxPeers = "8.4", v.Kernel.String(), 1
	default:
		c.DRBD, c.DRBDFull, c.MaxPeers = "9", v.Kernel.String(), drbd.MaxPeers
	}
	switch {
	case l.Missing != "":
		c.ThinReason = l.Missing
		return c
	case !l.Seen:
		c.LVMReason, c.ThinReason = "not observed yet", "not observed yet"
		return c
	}
	c.LVM, c.Thin = cmp.Or(l.Version, "2"), true // 2 while nobody has said more: there is no other
	if err := a.Find("thin_check"); err != nil {
		c.Thin, c.ThinReason = false, err.Error()
	}
	return c
}
