package drbdtest

import (
	"fmt"
	"strings"

	"rvol/drbd"
)

// An object is one thing that events2 tells of, as the tool prints it.
type object struct {
	kind   drbd.EventObject
	key    string // the fields that name it: "name:r0 volume:0 minor:0"
	state  fields
	counts fields // printed together when one of them changed
}

type field struct{ name, value string }

func (fs *fields) add(name string, value any) {
	*fs = append(*fs, field{name, fmt.Sprint(value)})
}

type fields []field

func (fs fields) String() string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString(" " + f.name + ":" + f.value)
	}
	return b.String()
}

// objects lists all that a node has up.
func (n *Node) objects() []object {
	var all []object
	for _, r := range n.sorted() {
		all = append(all, r.objects()...)
	}
	return all
}

// objects lists a resource and its parts, parts after wholes.
func (r *resource) objects() []object {
	all := []object{r.object()}
	for _, c := range r.connections() {
		all = append(all, c.object())
	}
	for _, d := range r.devices() {
		all = append(all, d.object())
	}
	for _, c := range r.connections() {
		for _, p := range c.devices() {
			all = append(all, p.object())
		}
		if !r.is84() {
			all = append(all, c.pathObjects()...)
		}
	}
	return all
}

func (r *resource) object() object {
	var state, counts fields
	state.add("role", r.role)
	state.add("suspended", r.frozen())
	if !r.is84() {
		state.add("force-io-failures", "no")
	}
	counts.add("write-ordering", "flush")
	if !r.is84() {
		state.add("may_promote", yesNo(r.role == drbd.Secondary && r.mayPromote()))
		state.add("promotion_score", 0)
	}
	return object{kind: drbd.ResourceEvent, key: "name:" + r.name, state: state, counts: counts}
}

func (d *device) object() object {
	var state, counts fields
	if !d.res.is84() {
		backing := d.path
		if backing == "" {
			backing = "none"
		}
		state.add("backing_dev", backing)
	}
	state.add("disk", d.state)
	if !d.res.is84() {
		state.add("client", yesNo(d.client))
		state.add("quorum", yesNo(d.quorum))
		if d.res.node.version.Tools.AtLeast(9, 34, 0) {
			state.add("open", yesNo(len(d.openers) > 0))
		}
	}
	counts.add("size", d.size/1024)
	for _, name := range []string{"read", "written", "al-writes", "bm-writes"} {
		counts.add(name, 0)
	}
	counts.add("upper-pending", d.writing)
	counts.add("lower-pending", 0)
	counts.add("al-suspended", "no")
	counts.add("blocked", "no")
	key := fmt.Sprintf("name:%s volume:%d minor:%d", d.res.name, d.volume, d.minor)
	return object{kind: drbd.DeviceEvent, key: key, state: state, counts: counts}
}

func (c *conn) key() string {
	return fmt.Sprintf("name:%s peer-node-id:%d conn-name:%s", c.res.name, c.id, c.name)
}

func (c *conn) object() object {
	var state, counts fields
	state.add("connection", c.state)
	state.add("role", c.role)
	counts.add("congested", "no")
	if !c.res.is84() {
		counts.add("ap-in-flight", 0)
		counts.add("rs-in-flight", 0)
	}
	return object{kind: drbd.ConnectionEvent, key: c.key(), state: state, counts: counts}
}

func (c *conn) pathObjects() []object {
	var all []object
	for _, p := range c.paths {
		var state fields
		state.add("established", yesNo(c.state == drbd.Connected))
		key := c.key() + " local:" + p[0] + " peer:" + p[1]
		all = append(all, object{kind: drbd.PathEvent, key: key, state: state})
	}
	return all
}

func (p *peerDev) object() object {
	var state, counts fields
	state.add("replication", p.repl)
	state.add("peer-disk", p.disk)
	if !p.conn.res.is84() {
		state.add("peer-client", yesNo(p.client || p.opts["bitmap"] == "no"))
	}
	state.add("resync-suspended", p.suspension())
	counts.add("received", 0)
	counts.add("sent", 0)
	counts.add("out-of-sync", p.outOfSync().bytes()/1024)
	counts.add("pending", 0)
	counts.add("unacked", 0)
	key := fmt.Sprintf("%s volume:%d", p.conn.key(), p.volume)
	return object{kind: drbd.PeerDeviceEvent, key: key, state: state, counts: counts}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
