package drbd

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// A Table is what a stream of events tells of a node's resources. Make a new
// one for every stream. It is not safe for concurrent use.
type Table struct {
	resources map[string]*Resource
	past      map[string]map[Pair]Past
	complete  bool
}

// NewTable makes a Table that has been told nothing.
func NewTable() *Table {
	return &Table{resources: map[string]*Resource{}, past: map[string]map[Pair]Past{}}
}

// Complete says that the dump at the start of the stream has ended: from now
// on a resource that is not here is not up.
func (t *Table) Complete() bool { return t.complete }

// Names gives the resources that are up, sorted.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(t.resources)) }

// Resource gives a copy of one resource.
func (t *Table) Resource(name string) (Resource, bool) {
	r, ok := t.resources[name]
	if !ok {
		return Resource{}, false
	}
	c := r.Clone()
	c.settle()
	return c, true
}

// Resources gives copies of all, sorted by name.
func (t *Table) Resources() []Resource {
	all := make([]Resource, 0, len(t.resources))
	for _, name := range t.Names() {
		r, _ := t.Resource(name)
		all = append(all, r)
	}
	return all
}

// Resyncing says that data flows between this node and another, or is compared.
func (t *Table) Resyncing() bool {
	for _, r := range t.resources {
		for _, p := range r.Peers {
			if slices.ContainsFunc(p.Devices, func(d PeerDevice) bool { return d.Repl.Resyncing() }) {
				return true
			}
		}
	}
	return false
}

// Measure takes from a look at a resource what no event tells while it changes:
// how much is out of sync during a resync, and how large a device has become. It
// reports whether that is news.
func (t *Table) Measure(look Resource) (news bool) {
	r := t.resources[look.Name]
	if r == nil {
		return false
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		if now, ok := look.Device(d.Volume); ok && now.Size != d.Size {
			d.Size, news = now.Size, true
		}
	}
	for i := range r.Peers {
		seen, ok := look.Peer(r.Peers[i].NodeID)
		if !ok {
			continue
		}
		for j := range r.Peers[i].Devices {
			d := &r.Peers[i].Devices[j]
			if now, ok := seen.Device(d.Volume); ok && d.Repl.Resyncing() && now.Repl == d.Repl {
				news = d.measure(now) || news
			}
		}
	}
	return news
}

// measure takes what a look says of a resync or a comparison.
func (d *PeerDevice) measure(now PeerDevice) (news bool) {
	if now.OutOfSync != d.OutOfSync {
		d.OutOfSync, news = now.OutOfSync, true
	}
	if d.Repl.Comparing() && now.Done != d.Done && now.Done != Untold {
		d.Done, news = now.Done, true
	}
	return news
}

// Apply changes the Table by one event. An event about something the Table
// was never told of is an error: lines were lost, follow anew.
func (t *Table) Apply(e Event) error {
	switch e.Object {
	case EndOfDump:
		t.complete = true
		return nil
	case HelperEvent, PathEvent:
		return nil
	case ResourceEvent:
		return t.applyResource(e)
	case ConnectionEvent, DeviceEvent, PeerDeviceEvent:
		if r := t.resources[e.Name()]; r != nil {
			ran := r.busy()
			err := r.apply(e)
			t.remember(r, ran)
			return err
		}
	}
	return lost(e)
}

// apply changes a part of a resource.
func (r *Resource) apply(e Event) error {
	switch e.Object {
	case ConnectionEvent:
		return r.applyConnection(e)
	case DeviceEvent:
		return r.applyDevice(e)
	default:
		return r.applyPeerDevice(e)
	}
}

func (t *Table) applyResource(e Event) error {
	name := e.Name()
	r := t.resources[name]
	switch {
	case e.Kind == Exists || e.Kind == Create:
		r = &Resource{Name: name, NodeID: NoNode}
		t.resources[name] = r
	case e.Kind == Destroy:
		delete(t.resources, name)
		delete(t.past, name)
		return nil
	case e.Kind == Rename:
		return t.rename(r, e)
	case r == nil:
		return lost(e)
	}
	set(e, "role", &r.Role)
	if s, ok := e.Fields["suspended"]; ok {
		r.Suspended = parseSuspended(s)
	}
	setBool(e, "force-io-failures", &r.ForceIOFailures)
	return nil
}

func (t *Table) rename(r *Resource, e Event) error {
	to := e.Fields["new_name"]
	if r == nil || to == "" {
		return lost(e)
	}
	delete(t.resources, r.Name)
	r.Name = to
	t.resources[to] = r
	return nil
}

func (r *Resource) applyConnection(e Event) error {
	id, err := e.number("peer-node-id", 0)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Peers, func(p Peer) bool { return p.NodeID == NodeID(id) })
	switch {
	case e.Kind == Destroy:
		if i >= 0 {
			r.Peers = slices.Delete(r.Peers, i, i+1)
		}
		return nil
	case i < 0 && (e.Kind == Exists || e.Kind == Create):
		r.Peers = append(r.Peers, Peer{NodeID: NodeID(id)})
		i = len(r.Peers) - 1
	case i < 0:
		return lost(e)
	}
	p := &r.Peers[i]
	set(e, "conn-name", &p.Name)
	set(e, "connection", &p.Conn)
	set(e, "role", &p.Role)
	return nil
}

func (r *Resource) applyDevice(e Event) error {
	volume, err := e.volume()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Devices, func(d Device) bool { return d.Volume == volume })
	switch {
	case e.Kind == Destroy:
		if i >= 0 {
			r.Devices = slices.Delete(r.Devices, i, i+1)
		}
		return nil
	case i < 0 && (e.Kind == Exists || e.Kind == Create):
		r.Devices = append(r.Devices, Device{Volume: volume, Quorum: true})
		i = len(r.Devices) - 1
	case i < 0:
		return lost(e)
	}
	return r.Devices[i].apply(e)
}

func (d *Device) apply(e Event) error {
	minor, err := e.number("minor", int64(d.Minor))
	if err != nil {
		return err
	}
	d.Minor = Minor(minor)
	if err := setSize(e, "size", &d.Size); err != nil {
		return err
	}
	if d.Pending, err = e.number("upper-pending", d.Pending); err != nil {
		return err
	}
	set(e, "disk", &d.Disk)
	set(e, "open", &d.Open)
	set(e, "backing_dev", &d.BackingDev)
	if d.BackingDev == "none" {
		d.BackingDev = ""
	}
	setBool(e, "client", &d.Client)
	setBool(e, "quorum", &d.Quorum)
	return nil
}

func (r *Resource) applyPeerDevice(e Event) error {
	volume, err := e.volume()
	if err != nil {
		return err
	}
	id, err := e.number("peer-node-id", 0)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(r.Peers, func(p Peer) bool { return p.NodeID == NodeID(id) })
	if n < 0 {
		if e.Kind == Destroy {
			return nil // went with its connection
		}
		return lost(e)
	}
	p := &r.Peers[n]
	i := slices.IndexFunc(p.Devices, func(d PeerDevice) bool { return d.Volume == volume })
	switch {
	case e.Kind == Destroy:
		if i >= 0 {
			p.Devices = slices.Delete(p.Devices, i, i+1)
		}
		return nil
	case i < 0 && (e.Kind == Exists || e.Kind == Create):
		p.Devices = append(p.Devices, PeerDevice{Volume: volume})
		i = len(p.Devices) - 1
	case i < 0:
		return lost(e)
	}
	d := &p.Devices[i]
	d.replicate(e)
	set(e, "peer-disk", &d.Disk)
	setBool(e, "peer-client", &d.Client)
	set(e, "resync-suspended", &d.ResyncSuspended)
	return setSize(e, "out-of-sync", &d.OutOfSync)
}

// replicate takes what is done with the peer now; of a comparison that begins nothing is told yet.
func (d *PeerDevice) replicate(e Event) {
	compared := d.Repl.Comparing()
	set(e, "replication", &d.Repl)
	if d.Repl.Comparing() && !compared {
		d.Done = Untold
	}
}

func (e Event) volume() (int, error) {
	n, err := e.number("volume", -1)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > math.MaxUint16 {
		return 0, fmt.Errorf("event %s %s: no volume: %w", e.Kind, e.Object, ErrGarbage)
	}
	return int(n), nil
}

func lost(e Event) error {
	return fmt.Errorf("event %s %s of %.60s does not follow from what came before: %w",
		e.Kind, e.Object, e.Name(), ErrGarbage)
}

func set[T ~string](e Event, key string, into *T) {
	if s, ok := e.Fields[key]; ok {
		*into = T(s)
	}
}

func setBool(e Event, key string, into *bool) {
	if s, ok := e.Fields[key]; ok {
		*into = s == "yes"
	}
}

// setSize reads a number of KiB, which is how the tools give sizes.
func setSize(e Event, key string, into *int64) error {
	s, ok := e.Fields[key]
	if !ok {
		return nil
	}
	n, err := parseSize(s, 1024)
	if err != nil {
		return fmt.Errorf("event %s %s: %s: %w", e.Kind, e.Object, key, err)
	}
	*into = n
	return nil
}

// parseSize reads a number of units as bytes.
func parseSize(s string, unit int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%w: size %.40q", ErrGarbage, s)
	}
	return n * unit, nil
}
