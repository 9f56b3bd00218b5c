package drbdtest

import (
	"fmt"

	"rvol/drbd"
)

// newResource is new-resource NAME [NODE-ID], silent about one that is there.
func (n *Node) newResource(a arguments) {
	name, id := a.word(0), drbd.NoNode
	if !n.version.Is84() {
		id = drbd.NodeID(a.number(1))
	}
	if n.resources[name] == nil {
		n.resources[name] = &resource{
			node: n, name: name, id: id, opts: a.options, role: drbd.Secondary,
			devs: map[int]*device{}, conns: map[drbd.NodeID]*conn{},
		}
	}
}

// down takes a resource down; one that is not up is fine.
func (n *Node) down(name string) error {
	r := n.resources[name]
	if r == nil {
		return nil
	}
	if who := r.openers(); r.role == drbd.Primary && len(who) > 0 {
		text := heldOpen(r, who)
		if r.is84() {
			text += "\nadditional info from kernel:\nfailed to demote"
		}
		return changed(name, 11, -12, text)
	}
	r.setRoleTo(drbd.Secondary)
	for _, c := range r.connections() {
		c.close()
		r.publish()
		delete(r.conns, c.id)
		r.publish()
	}
	for _, d := range r.devices() {
		d.letGo()
		delete(r.devs, d.volume)
		r.publish()
	}
	delete(n.resources, name)
	return nil
}

// onResource is the commands that take a resource.
func (n *Node) onResource(verb string, a arguments) error {
	if n.version.Is84() && (verb == "disconnect" || verb == "net-options") {
		return n.onAddresses(verb, a)
	}
	r := n.resources[a.word(0)]
	if r == nil {
		return unknownResource(a.word(0))
	}
	switch verb {
	case "new-minor":
		return r.newMinor(a)
	case "resource-options":
		r.opts = a.over(r.opts)
		r.recountAll()
		return nil
	}
	if n.version.Is84() {
		if verb == "connect" {
			return r.connect84(a)
		}
		return usage(verb)
	}
	return r.onPeer(verb, a)
}

// onAddresses is DRBD 8.4's commands that name a connection by its ends.
func (n *Node) onAddresses(verb string, a arguments) error {
	for _, r := range n.resources {
		for _, c := range r.conns {
			if !c.hasPath(a.word(0), a.word(1)) {
				continue
			}
			if verb == "net-options" {
				c.net = a.over(c.net)
				return nil
			}
			c.close()
			r.publish()
			delete(r.conns, c.id)
			r.publish()
			return nil
		}
	}
	return refuse(10, "??: Failure: (162) Invalid configuration request\nadditional info from kernel:\nunknown connection")
}

func (r *resource) newMinor(a arguments) error {
	minor, volume := drbd.Minor(a.number(1)), a.number(2)
	if old := r.node.device(minor); old != nil || r.devs[volume] != nil {
		if r.is84() && old != nil && old == r.devs[volume] {
			return nil
		}
		return failed(r.name, 161, "Minor or volume exists already (delete it first)")
	}
	r.devs[volume] = &device{
		res: r, volume: volume, minor: minor, state: drbd.Diskless,
		client: a.options["diskless"] != "", quorum: r.is84(),
	}
	for _, c := range r.conns {
		c.addDevice(volume)
	}
	return nil
}

func (c *conn) addDevice(volume int) {
	c.devs[volume] = &peerDev{
		conn: c, volume: volume, repl: drbd.Off, disk: drbd.DUnknown, suspended: "no", opts: map[string]string{},
	}
}

func (r *resource) newConn(id drbd.NodeID, name string, net map[string]string) *conn {
	c := &conn{
		res: r, id: id, name: name, net: net, state: drbd.StandAlone,
		role: drbd.RoleUnknown, devs: map[int]*peerDev{},
	}
	for volume := range r.devs {
		c.addDevice(volume)
	}
	r.conns[id] = c
	return c
}

// connect84 is connect NAME LOCAL PEER, which makes the connection.
func (r *resource) connect84(a arguments) error {
	if len(r.conns) > 0 {
		return failed(r.name, 102, "Local address(port) already in use.")
	}
	_, discard := a.options["discard-my-data"]
	delete(a.options, "discard-my-data")
	c := r.newConn(0, "peer", a.options)
	c.discard = discard
	c.paths = [][2]string{{a.word(1), a.word(2)}}
	for _, p := range c.devs {
		p.slot()
		if d := p.device(); d != nil && d.md != nil && d.md.PeerOutdated {
			p.disk = drbd.Outdated
		}
	}
	r.publish()
	c.connect()
	return nil
}

// onPeer is DRBD 9's commands that name a resource and a peer.
func (r *resource) onPeer(verb string, a arguments) error {
	id := drbd.NodeID(a.number(1))
	c := r.conns[id]
	switch {
	case verb == "new-peer":
		return r.newPeer(id, a)
	case verb == "forget-peer":
		return r.forgetPeer(id)
	case c == nil:
		return failed(r.name, 162, "Invalid configuration request\nadditional info from kernel:\nunknown connection")
	}
	switch verb {
	case "new-path":
		c.paths = append(c.paths, [2]string{a.word(2), a.word(3)})
	case "del-path":
		c.delPath(a.word(2), a.word(3))
	case "connect":
		return c.connectAgain(a)
	case "disconnect", "del-peer":
		c.remove(verb == "del-peer")
	case "net-options":
		c.net = a.over(c.net)
	case "peer-device-options":
		return c.peerDeviceOptions(a)
	case "verify":
		return r.verify(c, a.number(2), r.name, a)
	default:
		return usage(verb)
	}
	return nil
}

func (c *conn) connectAgain(a arguments) error {
	if err := a.only("connect", "discard-my-data"); err != nil {
		return err
	}
	if c.state != drbd.StandAlone {
		return failed(c.res.name, 125, "Device has a net-config (use disconnect first)")
	}
	c.discard = a.options["discard-my-data"] != ""
	c.connect()
	return nil
}

// remove ends a connection, and forgets it.
func (c *conn) remove(forget bool) {
	if c.state != drbd.StandAlone {
		c.close()
	}
	if forget {
		delete(c.res.conns, c.id)
		c.res.recount()
	}
}

func (r *resource) newPeer(id drbd.NodeID, a arguments) error {
	switch {
	case a.options["_name"] == "":
		return failed(r.name, 126, "UnknownMandatoryTag\nadditional info from kernel:\nrequired attribute missing")
	case id == r.id:
		return failed(r.name, 162, "Invalid configuration request\nadditional info from kernel:\npeer node id cannot be my own node id")
	case r.conns[id] != nil:
		return failed(r.name, 162, fmt.Sprintf("Invalid configuration request\nadditional info from kernel:\nConnection for peer node id %d already exists", id))
	}
	name := a.options["_name"]
	delete(a.options, "_name")
	r.newConn(id, name, a.options)
	return nil
}

// forgetPeer frees the bitmap slot.
func (r *resource) forgetPeer(id drbd.NodeID) error {
	if r.conns[id] != nil {
		return failed(r.name, 125, "Device has a net-config (use disconnect first)")
	}
	for _, d := range r.devs {
		if d.md != nil {
			delete(d.md.Peers, id)
			d.save()
		}
	}
	return nil
}

func (c *conn) delPath(local, peer string) {
	for i, p := range c.paths {
		if p == [2]string{local, peer} {
			c.paths = append(c.paths[:i:i], c.paths[i+1:]...)
			return
		}
	}
}

func (c *conn) peerDeviceOptions(a arguments) error {
	p := c.devs[a.number(2)]
	if p == nil {
		return failed(c.res.name, 162, "Invalid configuration request")
	}
	p.opts = a.over(p.opts)
	if d := p.device(); p.opts["bitmap"] == "no" && d != nil && d.md != nil {
		delete(d.md.Peers, c.id)
	}
	c.res.recount()
	return nil
}

// verify starts comparing.
func (r *resource) verify(c *conn, volume int, object any, a arguments) error {
	if err := a.only("verify", "start"); err != nil {
		return err
	}
	if c == nil || c.state != drbd.Connected || c.devs[volume] == nil {
		return changed(object, 11, -15, "Need a connection to start verify or resync")
	}
	p := c.devs[volume]
	if p.repl != drbd.Established || p.slot() == nil || p.other() == nil || p.other().slot() == nil {
		return refuse(11, "")
	}
	p.verify()
	c.other.res.publish()
	return nil
}
