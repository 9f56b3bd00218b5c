package state

import "rvol/coordinator/model"

// touch gathers the nodes whose desired state a transaction may change. It looks at
// every changed object before and after, so that a removal counts too.
//
// A node is touched by its own node, status, LVG, replica, reservation, attachment and
// operation. A volume, its status and its secret touch every node that has a replica, a
// member or a reservation of it. The cluster and its members, whose addresses every order
// names, touch all nodes. Classes and pools touch none: a volume's status holds the
// configuration that it runs.
type touch struct {
	t     *tables
	nodes map[string]struct{}
	all   bool
}

func newTouch(t *tables) *touch { return &touch{t: t, nodes: map[string]struct{}{}} }

func (n *touch) change(o model.Object) {
	switch o := o.(type) {
	case *model.Cluster, *model.Member:
		n.all = true
	case *model.Volume:
		n.volume(o.Name)
	case *model.VolumeStatus:
		n.volume(o.Name)
	case *model.Secret:
		if volume, ok := model.SecretVolume(o.Name); ok {
			n.volume(volume)
		}
	default:
		n.node(nodeOf(o))
	}
}

// nodeOf is the node that an object is about, "" if it is about none or several.
func nodeOf(o model.Object) string {
	switch o := o.(type) {
	case *model.Node:
		return o.Name
	case *model.NodeStatus:
		return o.Name
	case *model.LVG:
		return o.Node
	case *model.Replica:
		return o.Node
	case *model.Reservation:
		return o.Pool.Node
	case *model.Attachment:
		return o.Node
	case *model.Operation:
		return o.Node
	}
	return ""
}

func (n *touch) node(name string) {
	if name != "" {
		n.nodes[name] = struct{}{}
	}
}

// volume touches the nodes of a volume as the tables know them now.
func (n *touch) volume(name string) {
	for r := range scan[*model.Replica](n.t.objects, string(model.KindReplica)+"/"+name+"/") {
		n.node(r.Node)
	}
	for r := range n.t.reservationsOfVolume(name) {
		n.node(r.Pool.Node)
	}
	o, _ := n.t.get(model.Key{Kind: model.KindVolumeStatus, Name: name})
	if s, ok := o.(*model.VolumeStatus); ok {
		for _, m := range s.Datamesh.Members {
			n.node(m.Node)
		}
	}
}

// mark records that what was gathered changed at rev.
func (n *touch) mark(rev uint64) {
	if n.all {
		n.t.allNodes = rev
	}
	for name := range n.nodes {
		n.t.setNode(name, rev)
	}
}
