package drbdtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rvol/drbd"
)

// force says how a promotion treats what stands against it.
type force bool

const (
	gently   force = false
	forcibly force = true
)

// setRole is primary and secondary, of a resource or a minor.
func (n *Node) setRole(ctx context.Context, verb string, a arguments) error {
	if err := a.only(verb, "force"); err != nil {
		return err
	}
	var r *resource
	var object any = a.word(0)
	if n.version.Is84() {
		minor := drbd.Minor(a.number(0))
		d := n.device(minor)
		if d == nil {
			return unknownMinor(minor)
		}
		r, object = d.res, minor
	} else if r = n.resources[a.word(0)]; r == nil {
		return unknownResource(a.word(0))
	}
	if verb == "secondary" {
		return r.demote(ctx, object)
	}
	return r.promote(ctx, object, force(a.options["force"] == "yes"))
}

// promote asks every peer, and so waits for one that is gone and not known
// to be.
func (r *resource) promote(ctx context.Context, object any, f force) error {
	if err := r.settle(ctx); err != nil || r.role == drbd.Primary {
		return err
	}
	if err := r.fencePeers(ctx, object, f); err != nil {
		return err
	}
	if err := r.promotable(object, f); err != nil {
		return err
	}
	forced := r.improve(f)
	r.setRoleTo(drbd.Primary)
	for _, d := range r.devices() {
		if d.md != nil && (forced || d.missesPeer()) && d.state == drbd.UpToDate {
			d.rotate()
		}
	}
	r.confirm()
	if forced {
		r.feedPeers()
	}
	return nil
}

// improve makes disks UpToDate that a promotion takes as such; forced: one was not good
// by its own account.
func (r *resource) improve(f force) (forced bool) {
	for _, d := range r.devices() {
		switch {
		case f == forcibly && (d.state == drbd.Inconsistent || d.state == drbd.Outdated):
			forced = true
			d.setState(drbd.UpToDate)
		case d.state == drbd.Consistent:
			d.setState(drbd.UpToDate)
		}
	}
	return forced
}

// settle waits until every peer answers or is known to be gone.
func (r *resource) settle(ctx context.Context) error {
	for r.role == drbd.Secondary && r.unsettled() {
		if err := r.node.waiting(ctx); err != nil {
			return err
		}
		if r.node.resources[r.name] != r {
			return unknownResource(r.name)
		}
	}
	return nil
}

// unsettled says that a peer does not answer and is not known to be gone.
func (r *resource) unsettled() bool {
	for _, c := range r.conns {
		if c.state == drbd.Connected && c.broken() {
			return true
		}
	}
	return false
}

// promotable is what stands against a promotion.
func (r *resource) promotable(object any, f force) error {
	for _, c := range r.conns {
		if c.net["allow-two-primaries"] != "yes" && r.hearsOfPrimary() {
			return changed(object, 11, -1, "Multiple primaries not allowed by config")
		}
	}
	for _, d := range r.devices() {
		if !d.quorum && f == gently {
			return noQuorum(object, d)
		}
		if !d.promotable(f) {
			return changed(object, 17, -2, "Need access to UpToDate data")
		}
	}
	return nil
}

// hearsOfPrimary says that a node within reach is Primary. DRBD 9 asks through others
// too.
func (r *resource) hearsOfPrimary() bool {
	for _, o := range r.within() {
		if o != r && o.role == drbd.Primary {
			return true
		}
	}
	return false
}

// within are the resource on this node and on all nodes that it can ask, on DRBD 9
// through others too.
func (r *resource) within() []*resource {
	all := []*resource{r}
	for i := 0; i < len(all) && (i == 0 || !r.is84()); i++ {
		for _, c := range all[i].connections() {
			if c.state == drbd.Connected && !c.broken() && !slices.Contains(all, c.other.res) {
				all = append(all, c.other.res)
			}
		}
	}
	return all
}

func noQuorum(object any, d *device) error {
	v := d.votes()
	need, _ := d.res.threshold("quorum", v.voters)
	return changed(object, 11, -25, fmt.Sprintf("No quorum\nadditional info from kernel:\n%d of %d nodes visible, need %d for quorum",
		v.present, v.voters, need))
}

// promotable says that good data is within reach, or taken for good.
func (d *device) promotable(f force) bool {
	switch d.state {
	case drbd.UpToDate:
		return true
	case drbd.Consistent:
		return d.quorum
	case drbd.Inconsistent, drbd.Outdated:
		return f == forcibly || d.data() != nil
	default:
		return d.data() != nil
	}
}

// missesPeer says that a diskful peer is away.
func (d *device) missesPeer() bool {
	for _, c := range d.res.conns {
		p := c.devs[d.volume]
		if p != nil && p.slot() != nil && p.slot().Bitmap == 0 && !d.inSyncWith(c.id) {
			return true
		}
	}
	return false
}

// setRoleTo changes the role and tells the peers.
func (r *resource) setRoleTo(role drbd.Role) {
	r.role = role
	for _, d := range r.devices() {
		if d.md != nil {
			d.md.Primary = role == drbd.Primary
			if role == drbd.Secondary {
				d.md.Hot = nil
			}
			d.save()
		}
	}
	for _, c := range r.connections() {
		if c.other != nil {
			c.other.role = role
			c.other.res.publish()
		}
	}
	r.tell()
	if role == drbd.Secondary {
		for _, c := range r.connections() {
			if c.other != nil {
				c.other.res.gotStable()
			}
		}
	}
}

// confirm lets peers know that their data is that of the new Primary.
func (r *resource) confirm() {
	for _, c := range r.connections() {
		for _, p := range c.devices() {
			if o := p.remote(); o != nil && o.state == drbd.Consistent && p.device() != nil && p.device().state == drbd.UpToDate {
				o.setState(drbd.UpToDate)
				o.res.publish()
			}
		}
	}
}

// feedPeers begins the first full resync after a forced promotion.
func (r *resource) feedPeers() {
	for _, c := range r.connections() {
		for _, p := range c.devices() {
			if o := p.remote(); o != nil && o.state == drbd.Inconsistent && p.slot() != nil && p.repl == drbd.Established {
				p.startResync(true)
				o.res.publish()
			}
		}
	}
}

func (r *resource) demote(ctx context.Context, object any) error {
	for r.frozenIO && r.underWay() {
		if err := r.node.waiting(ctx); err != nil {
			return err
		}
	}
	if r.role != drbd.Primary {
		return nil
	}
	if who := r.openers(); len(who) > 0 || r.underWay() { // who writes has it open
		return changed(object, 11, -12, heldOpen(r, who))
	}
	r.setRoleTo(drbd.Secondary)
	return nil
}

// openers lists who has devices open, as the kernel of DRBD 9 prints it.
func (r *resource) openers() []string {
	var who []string
	for _, d := range r.devices() {
		for _, o := range d.openers {
			who = append(who, fmt.Sprintf("drbd%d opened by %s (pid %d) at %s",
				d.minor, o.process, o.pid, o.at.Format("2006-01-02 15:04:05.000")))
		}
	}
	return who
}

func heldOpen(r *resource, who []string) string {
	text := "Device is held open by someone"
	if !r.is84() {
		text += "\nadditional info from kernel:\n" + strings.Join(who, "\n")
	}
	return text
}
