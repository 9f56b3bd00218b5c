package decide_test

import (
	"strings"

	"rvol/agent/decide"
	"rvol/drbd"
)

const (
	res    = "rvol-db"
	lvUUID = "LLLLLL-0000-0000-0000-0000-0000-000000"
	vgUUID = "VVVVVV-0000-0000-0000-0000-0000-000000"
	size   = 16 << 20
)

var (
	v84 = drbd.Version{Kernel: drbd.Number{Major: 8, Minor: 4, Patch: 11}, Tools: drbd.Number{Major: 9, Minor: 22}}
	v9  = drbd.Version{Kernel: drbd.Number{Major: 9, Minor: 3, Patch: 3}, Tools: drbd.Number{Major: 9, Minor: 22}}
)

// world is a node with one replica of a volume of two, in any state that its
// methods bring about.
type world struct{ decide.Input }

// empty has the order and nothing else.
func empty(v drbd.Version) *world {
	w := &world{}
	w.Desired = decide.Desired{Order: decide.Order{Incarnation: 1, Index: 1}, Cluster: "c1", Resources: []decide.Resource{{
		Volume: "db", Name: res, ReplicaUID: "uid-0", Type: decide.Diskful, HostName: "a", Port: 17000,
		Addresses: map[string]string{"default": "10.0.0.1"}, MaxPeers: 7,
		Devices: []decide.Device{{Minor: 10000, Size: size, Backing: &decide.Backing{
			Reservation: "res-0", VG: "vg0", VGUUID: vgUUID, LV: "rvol-db.0.0", Size: 20 << 20,
		}}},
	}}}
	w.Observed = decide.Observed{
		DRBD: v, VGs: []decide.VG{{Name: "vg0", UUID: vgUUID}},
		Files: map[string]string{}, Metadata: map[string]decide.Metadata{}, Links: map[string]string{},
	}
	w.Facts = decide.Facts{
		Confirmed: true, Backings: map[string]decide.BackingFact{},
		Operations: map[string]decide.OperationFact{}, Applied: map[string]string{},
	}
	return w
}

func (w *world) r() *decide.Resource { return &w.Desired.Resources[0] }

// created has the volume, as the journal says.
func (w *world) created() *world {
	w.Observed.LVs = []decide.LV{{
		VG: "vg0", VGUUID: vgUUID, Name: "rvol-db.0.0", UUID: lvUUID, Size: 20 << 20, Active: true, Cluster: "c1", Reservation: "res-0",
	}}
	w.Observed.Metadata[lvUUID] = decide.Metadata{None: true}
	w.Facts.Backings["res-0"] = decide.BackingFact{VGUUID: vgUUID, LV: "rvol-db.0.0", LVUUID: lvUUID}
	return w
}

// formatted has metadata too.
func (w *world) formatted() *world {
	w.created()
	f := w.Facts.Backings["res-0"]
	f.MetaMade = true
	w.Facts.Backings["res-0"] = f
	w.Observed.Metadata[lvUUID] = decide.Metadata{Current: drbd.JustCreated, Device: w.r().DeviceUUID(0)}
	return w
}

// member is a member of the mesh, by the order.
func (w *world) member() *world {
	r := w.r()
	r.Member, r.Revision, r.Secret, r.Quorum, r.QuorumMinimumRedundancy = true, 2, "s", 2, 1
	r.Peers = []decide.Peer{{ID: 1, Type: decide.Diskful, Node: "b", HostName: "b", Port: 17000, Addresses: map[string]string{"default": "10.0.0.2"}}}
	return w
}

// up runs what the order says, Inconsistent.
func (w *world) up() *world {
	w.formatted()
	w.settle()
	w.Observed.LVs[0].Open = true
	w.Observed.Metadata[lvUUID] = decide.Metadata{Current: drbd.JustCreated, Attached: true}
	up := drbd.Resource{Name: res, Role: drbd.Secondary, Devices: []drbd.Device{{Minor: 10000, Disk: drbd.Inconsistent, Size: size}}}
	if w.Observed.DRBD.Is84() {
		up.NodeID = drbd.NoNode
	}
	if w.r().Member {
		id := drbd.NodeID(1)
		if w.Observed.DRBD.Is84() {
			id = 0
		}
		up.Peers = []drbd.Peer{{NodeID: id, Conn: drbd.Connected, Role: drbd.Secondary, Devices: []drbd.PeerDevice{{Repl: drbd.Established, Disk: drbd.Inconsistent}}}}
	}
	w.Observed.Resources = []drbd.Resource{up}
	return w
}

// settle makes file, kernel and links what the order says.
func (w *world) settle() {
	text, err := w.r().File(w.Observed.DRBD)
	if err != nil {
		panic(err) // a mistake of the test
	}
	w.Observed.Files[res], w.Facts.Applied[res] = text, text
	for _, name := range decide.LinkNames(*w.r(), w.r().Devices[0]) {
		w.Observed.Links[name] = "/dev/drbd10000"
	}
}

func (w *world) kernel() *drbd.Resource { return &w.Observed.Resources[0] }

// formed is in use since long.
func (w *world) formed() *world {
	w.member()
	w.r().Formed = true
	w.up()
	w.kernel().Devices[0].Disk = drbd.UpToDate
	w.kernel().Peers[0].Devices[0].Disk = drbd.UpToDate
	delete(w.Observed.Metadata, lvUUID)
	return w
}

// granted has the operation that makes the first data generation.
func (w *world) granted() *world {
	w.member().up()
	w.Desired.Operations = []decide.Operation{{
		ID: "op", Type: decide.CreateNewUUIDOperation, Volume: "db", ReplicaUID: "uid-0",
		NewUUID: &decide.NewUUID{ClearBitmap: true, Revision: 2, Peers: []drbd.NodeID{1}, LVUUIDs: []string{lvUUID}},
	}}
	return w
}

// releasing orders the replica away.
func (w *world) releasing() *world {
	w.Desired.Resources = nil
	w.Desired.Releases = []decide.Release{{
		Reservation: "res-0", Volume: "db", Resource: res, ReplicaUID: "uid-0", VG: "vg0", VGUUID: vgUUID, LV: "rvol-db.0.0", LVUUID: lvUUID,
	}}
	return w
}

// down is not in the kernel.
func (w *world) down() *world {
	w.Observed.Resources = nil
	if len(w.Observed.LVs) > 0 {
		w.Observed.LVs[0].Open = false
	}
	delete(w.Facts.Applied, res)
	return w
}

func (w *world) with(change func(*world)) *world {
	change(w)
	return w
}

// says renders a plan: its steps, then what it reports.
func says(p decide.Plan) string {
	var lines []string
	for _, s := range p.Steps {
		lines = append(lines, s.String())
	}
	for _, s := range p.States {
		if s.Error != "" {
			definite := ""
			if s.Definite {
				definite = " for good"
			}
			lines = append(lines, "refused"+definite+" ("+s.ErrorClass+"): "+s.Error)
		} else if len(p.Steps) == 0 && s.Step != "" {
			lines = append(lines, s.Step)
		}
	}
	for _, id := range p.Released {
		lines = append(lines, "released "+id)
	}
	return strings.Join(lines, "\n")
}
