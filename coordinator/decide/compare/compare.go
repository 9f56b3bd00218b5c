package compare

import (
	"cmp"
	"fmt"
	"slices"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Kind is a sort of difference.
type Kind string

// The kinds of difference.
const (
	UnknownLV       Kind = "unknown-lv"       // ours by its tags, and no reservation has it
	UnknownResource Kind = "unknown-resource" // of our naming, and the node has no such replica
	MissingLV       Kind = "missing-lv"       // bound, and not there
	LargerLV        Kind = "larger-lv"        // than what is charged
	SmallerLV       Kind = "smaller-lv"       // than what was granted, and nothing is resized
	StaleFile       Kind = "stale-file"       // of a resource that is not up, and the node has no such replica
	NotUp           Kind = "not-up"           // a replica of a formed volume, and DRBD has no such resource
	ToRemove        Kind = "to-remove"        // the state had begun to remove it
	InUse           Kind = "in-use"           // Primary, and no attachment says so
	NotInUse        Kind = "not-in-use"       // Secondary, and an attachment is granted
	Ahead           Kind = "ahead"            // runs a newer revision of the mesh than there is
	Formed          Kind = "formed"           // has data, and the state would form it anew
	Apart           Kind = "apart"            // two copies without quorum that do not see each other
)

// Node is one node with its agent's report.
type Node struct {
	Name string
	Seen *inventory.Node
}

// Volume is a volume as the state has it.
type Volume struct {
	*model.Volume
	Status      *model.VolumeStatus // nil: none
	Replicas    []*model.Replica
	Attachments []*model.Attachment
}

// Input is the state and the reports.
type Input struct {
	Cluster      *model.Cluster
	Nodes        []Node
	Volumes      []Volume
	Reservations []*model.Reservation
}

// Difference is one of them.
type Difference struct {
	Kind     Kind
	Node     string
	Volume   string // empty: it has none
	Object   string // replica, LV or resource
	Says     string
	Then     string // what becomes of it
	Revision int64  // Ahead: what the node runs
}

// Waiting says why nothing is known of a node; empty: it has reported in this incarnation.
func Waiting(c *model.Cluster, n Node) string {
	switch seen := n.Seen; {
	case seen == nil:
		return "its agent has not been heard of"
	case !seen.Connected:
		return "its agent is not connected"
	case !seen.Full:
		return "its agent has not reported yet"
	case seen.StorageError != "":
		return "its volume groups are not completely known: " + seen.StorageError
	case seen.DRBDError != "":
		return "its DRBD resources are not completely known: " + seen.DRBDError
	case seen.Accepted.Incarnation != c.Incarnation:
		return fmt.Sprintf("its agent has not taken an order of incarnation %d yet", c.Incarnation)
	}
	return ""
}

// Differences lists them by node, volume and kind.
func Differences(in Input) []Difference {
	c := comparison{
		cluster: in.Cluster, seen: map[string]*inventory.Node{}, holds: map[[2]string]bool{}, reservations: map[string]*model.Reservation{},
	}
	for _, n := range in.Nodes {
		if Waiting(in.Cluster, n) == "" {
			c.seen[n.Name] = n.Seen
		}
	}
	for _, r := range in.Reservations {
		c.reservations[r.Name] = r
		c.reserved(r)
	}
	for _, v := range in.Volumes {
		c.volume(v)
	}
	for _, n := range in.Nodes {
		c.node(c.seen[n.Name])
	}
	slices.SortStableFunc(c.found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object))
	})
	return c.found
}

type comparison struct {
	cluster      *model.Cluster
	seen         map[string]*inventory.Node // those that reported
	holds        map[[2]string]bool         // node, volume: it has a replica there
	reservations map[string]*model.Reservation
	found        []Difference
}

func (c *comparison) add(d Difference) { c.found = append(c.found, d) }

// reserved compares one reservation with the LV that it is for.
func (c *comparison) reserved(r *model.Reservation) {
	vg, there := c.seen[r.Pool.Node].VG(r.Pool.VG)
	if !there || r.OwnerKind == model.OwnerOrphan {
		return
	}
	d := Difference{Node: r.Pool.Node, Object: r.LV}
	if r.OwnerKind == model.OwnerReplica {
		d.Volume, _, _ = model.SplitReplicaName(r.Owner)
	}
	i := slices.IndexFunc(vg.LVs, func(lv inventory.LV) bool { return lv.Reservation == r.Name && lv.Cluster == c.cluster.ID })
	switch {
	case i < 0 && r.State == model.Bound:
		d.Kind, d.Says = MissingLV, fmt.Sprintf("the LV of %s is not in %s", r.Owner, r.VGName)
		d.Then = "the replica has no data there; remove it, and another copy is made"
	case i >= 0:
		d.size(r, vg.LVs[i].Size)
	}
	if d.Kind != "" {
		c.add(d)
	}
}

// size compares an LV that is there with what was granted.
func (d *Difference) size(r *model.Reservation, size int64) {
	switch {
	case r.State == model.Releasing:
		d.Kind, d.Says = ToRemove, fmt.Sprintf("its removal had begun, and its LV in %s is there", r.VGName)
		d.Then = "it is removed"
	case r.State == model.Bound && r.Pending == 0 && size < r.Granted:
		d.Kind, d.Says = SmallerLV, fmt.Sprintf("the LV has %d bytes, %d were granted", size, r.Granted)
		d.Then = "DRBD does not attach a disk that became too small: remove the replica, and another copy is made"
	case size > r.Charge():
		d.Kind, d.Says = LargerLV, fmt.Sprintf("the LV has %d bytes, %d are charged", size, r.Charge())
		d.Then = "it keeps its size, which is charged"
	}
}

// volume compares one volume with the resources of its nodes.
func (c *comparison) volume(v Volume) {
	apart := 0
	for _, r := range v.Replicas {
		c.holds[[2]string{r.Node, v.Name}] = true
		if v.Status == nil {
			continue
		}
		res, up := c.seen[r.Node].Resource(model.ResourceName(v.Name))
		if !up {
			c.down(v, r)
			continue
		}
		c.role(v, r, res)
		c.mesh(v, r, res)
		if r.Type == model.Diskful && !together(res) {
			apart++
		}
	}
	if apart == 2 && v.Status.Formed && v.Status.DRBD == "8.4" && v.Status.Sole == nil {
		c.add(Difference{
			Kind: Apart, Volume: v.Name, Object: v.Name, Says: "its two copies do not see each other, and the state does not say which is newer",
			Then: "whichever is used first goes on: connect them before, or fence the node with the older one",
		})
	}
}

// down tells of a member that DRBD does not run.
func (c *comparison) down(v Volume, r *model.Replica) {
	_, member := v.Status.Datamesh.Member(r.ID)
	if c.seen[r.Node] == nil || !member || !v.Status.Formed || v.Stopped || v.Deleting() || r.Deleting() {
		return
	}
	c.add(Difference{
		Kind: NotUp, Node: r.Node, Volume: v.Name, Object: r.Name, Says: "DRBD does not run it there",
		Then: "it is brought up: `rvol explain replica " + r.Name + "` says what keeps it from that",
	})
}

// mesh compares what a replica runs with what it is to run.
func (c *comparison) mesh(v Volume, r *model.Replica, res inventory.Resource) {
	run := c.seen[r.Node].Replicas[r.UID]
	d := Difference{Node: r.Node, Volume: v.Name, Object: r.Name}
	if run.AppliedRevision > v.Status.Datamesh.Revision {
		d.Kind, d.Revision = Ahead, run.AppliedRevision
		d.Says = fmt.Sprintf("runs revision %d of its mesh, the state is at %d", run.AppliedRevision, v.Status.Datamesh.Revision)
		d.Then = "the state goes on from the higher number"
		c.add(d)
	}
	if !v.Status.Formed && res.Disk() == drbd.UpToDate && !run.JustCreated {
		d.Kind, d.Says = Formed, "has data, and the state has not formed it yet"
		d.Then = "its records go, the data stays: take it back with `rvol volume adopt`"
		c.add(d)
	}
}

// role compares who uses a volume with who is to.
func (c *comparison) role(v Volume, r *model.Replica, res inventory.Resource) {
	granted := slices.ContainsFunc(v.Attachments, func(a *model.Attachment) bool { return a.Node == r.Node && a.Granted && !a.Deleting() })
	d := Difference{Node: r.Node, Volume: v.Name, Object: r.Name}
	switch {
	case res.Role == drbd.Primary && !granted:
		d.Kind, d.Says, d.Then = InUse, "is in use there, and the state has no attachment for it", "it is attached there"
	case res.Role == drbd.Secondary && granted:
		d.Kind, d.Says, d.Then = NotInUse, "is not in use there, and the state has an attachment for it", "it is made Primary; detach it first if that is not wanted"
	default:
		return
	}
	c.add(d)
}

func together(r inventory.Resource) bool {
	return len(r.Peers) > 0 && r.Peers[0].Connection == drbd.Connected
}

// node lists what a node holds of ours that the state does not say.
func (c *comparison) node(n *inventory.Node) {
	if n == nil {
		return
	}
	for _, vg := range n.VGs {
		for _, lv := range vg.LVs {
			if !Orphan(c.cluster.ID, n.Name, vg, lv, c.reservations[lv.Reservation]) {
				continue
			}
			volume, _ := VolumeOfLV(lv.Name)
			c.add(Difference{
				Kind: UnknownLV, Node: n.Name, Volume: volume, Object: vg.Name + "/" + lv.Name,
				Says: fmt.Sprintf("an LV of %d bytes with this cluster's tags that no reservation has", lv.Size), Then: kept,
			})
		}
	}
	for _, f := range n.Files {
		volume, _ := VolumeOfResource(f)
		if _, up := n.Resource(f); !up && !c.holds[[2]string{n.Name, volume}] && !keeps(n, volume) {
			c.add(Difference{
				Kind: StaleFile, Node: n.Name, Volume: volume, Object: f,
				Says: "a file for drbdadm of a resource that is not up, and of which the state knows no replica here",
				Then: "it stays: see that nobody needs it, and remove /etc/drbd.d/rvol/" + f + ".res there",
			})
		}
	}
	for _, r := range n.Resources {
		volume, ours := VolumeOfResource(r.Name)
		if ours && !c.holds[[2]string{n.Name, volume}] {
			c.add(Difference{
				Kind: UnknownResource, Node: n.Name, Volume: volume, Object: r.Name,
				Says: fmt.Sprintf("a DRBD resource, %s, of which the state knows no replica here", r.Role), Then: kept,
			})
		}
	}
}

// keeps says that the node's agent remembers a replica of the volume, and holds it.
func keeps(n *inventory.Node, volume string) bool {
	return slices.ContainsFunc(n.Kept, func(k inventory.Kept) bool { return k.Volume == volume })
}

const kept = "it is kept and reported: `rvol volume adopt` takes it back, `rvol orphan remove` removes it"
