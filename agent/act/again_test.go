package act_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"rvol/agent/decide"
	"rvol/drbd"
	"rvol/lvm"
)

// attack is something that would have a used volume formed anew. It happens while the
// agents of both nodes are down and the volume is too, unless it is said how the order is.
type attack struct {
	name string
	// behind is what happens to a node behind the agent's back.
	behind func(p *pair, n *node)
	// order is what the nodes are told then; nil: the operation is granted once more.
	order func(d *decide.Desired)
	makes int  // how often that makes metadata
	alone bool // on both nodes it would take back all that was ever written
	// survives: the copies can still be used, and must hold what was written.
	survives bool
}

// granted is the order of the time when the volume was formed, with the operation.
func granted(p *pair, id string) func(d *decide.Desired) {
	return func(d *decide.Desired) {
		r := &d.Resources[0]
		r.Formed = false
		if r.ReplicaID != 0 {
			return
		}
		d.Operations = []decide.Operation{{
			ID: id, Type: decide.CreateNewUUIDOperation, Volume: "db", ReplicaUID: "uid-0",
			NewUUID: &decide.NewUUID{ClearBitmap: p.thin, Revision: 2, Peers: []drbd.NodeID{1}, LVUUIDs: []string{r.Devices[0].Backing.LVUUID}},
		}}
	}
}

const agentState = "var/lib/rvol/agent"

func attacks() []attack {
	nothing := func(*pair, *node) {}
	return []attack{
		{name: "the operation is granted again under its old name", behind: nothing, survives: true},
		{name: "the agent's state is that of before the operation", survives: true, behind: func(p *pair, n *node) {
			p.ok(os.RemoveAll(filepath.Join(n.Root, agentState)))
			p.ok(os.CopyFS(filepath.Join(n.Root, agentState), os.DirFS(filepath.Join(n.Root, "before"))))
		}},
		{name: "the agent's state is lost", survives: true, behind: func(p *pair, n *node) {
			p.ok(os.RemoveAll(filepath.Join(n.Root, agentState)))
		}},
		{name: "the order says that the volume is formed", behind: nothing, survives: true, order: func(d *decide.Desired) { d.Resources[0].Formed = true }},
		{name: "the LV is replaced by one of the same name and tags", behind: func(p *pair, n *node) {
			lv, tool := n.lvs()[0], lvm.New(n.LVM.Run)
			p.ok(tool.LVRemove(p.Context(), lv.VG, lv.Name, lv.UUID))
			spec := lvm.LVSpec{VG: lv.VG, Name: lv.Name, Size: lv.Size, Tags: lv.Tags}
			if p.thin {
				p.ok(tool.ThinCreate(p.Context(), "tp", spec))
			} else {
				p.ok(tool.LVCreate(p.Context(), spec))
			}
		}},
		{name: "one whole node is that of before the operation", alone: true, survives: true, behind: func(p *pair, n *node) {
			p.ok(os.RemoveAll(filepath.Join(n.Root, agentState)))
			p.ok(os.CopyFS(filepath.Join(n.Root, agentState), os.DirFS(filepath.Join(n.Root, "before"))))
			image, err := os.ReadFile(filepath.Join(n.Root, "image"))
			p.ok(err)
			dev, err := n.LVM.Open(n.path())
			p.ok(err)
			_, err = dev.WriteAt(image, 0)
			p.ok(errors.Join(err, dev.Close()))
		}},
		{name: "somebody made the metadata anew", makes: 1, behind: func(p *pair, n *node) {
			p.ok(drbd.New(n.DRBD.Run, n.DRBD.Version()).CreateMD(p.Context(), drbd.MetaDev{Minor: 10000, Disk: n.path()}, 7))
		}},
	}
}

func (p *pair) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// TestNothingFormsAUsedVolumeAnew tries to get a second first data generation out of the
// agents of a volume that holds data, by what somebody could do to one node, and to both.
func TestNothingFormsAUsedVolumeAnew(t *testing.T) {
	for _, a := range attacks() {
		for _, both := range []string{"one node", "both nodes"} {
			if a.alone && both != "one node" {
				continue
			}
			t.Run(a.name+" on "+both, func(t *testing.T) {
				versions(t, func(t *testing.T, v drbd.Version) {
					world(t, v, func(t *testing.T, p *pair) {
						nodes := p.nodes[:]
						if both == "one node" {
							nodes = nodes[:1]
						}
						a.try(p, nodes)
					})
				})
			})
		}
	}
}

func (a attack) try(p *pair, on []*node) {
	p.Helper()
	for _, n := range p.nodes {
		n.start()
	}
	p.preconfigure()
	p.connect()
	for _, n := range p.nodes {
		n.keep(p)
	}
	p.bootstrap()
	p.formed()
	data := bytes.Repeat([]byte("acknowledged "), 1000)
	p.write(data)

	for _, n := range p.nodes {
		n.stop()
		p.ok(drbd.New(n.DRBD.Run, n.DRBD.Version()).Down(p.Context(), resource))
	}
	made := p.made()
	for _, n := range on {
		a.behind(p, n)
	}
	order := granted(p, "op-1")
	if a.order != nil {
		again := order
		order = func(d *decide.Desired) { again(d); a.order(d) }
	}
	for _, n := range p.nodes {
		n.start()
		n.give(order)
	}
	settle()
	if got := p.firstGenerations(); got != 1 {
		p.Errorf("first data generation made %d times", got)
	}
	if got := p.made() - len(on)*a.makes; got != made {
		p.Errorf("metadata made %d times by the agents, want %d", got, made)
	}
	if a.survives {
		p.formed()
		p.read(data)
	}
}

// keep puts a copy of the agent's state and of the disk aside.
func (n *node) keep(p *pair) {
	p.Helper()
	p.ok(os.CopyFS(filepath.Join(n.Root, "before"), os.DirFS(filepath.Join(n.Root, agentState))))
	image := make([]byte, n.lvs()[0].Size)
	dev, err := n.LVM.Open(n.path())
	p.ok(err)
	_, err = dev.ReadAt(image, 0)
	p.ok(errors.Join(err, dev.Close(), os.WriteFile(filepath.Join(n.Root, "image"), image, 0o600)))
}

// path is the device node of the volume's LV.
func (n *node) path() string { return "/dev/" + n.lvs()[0].VG + "/" + n.lvs()[0].Name }

// made counts how often metadata was made.
func (p *pair) made() int { return p.nodes[0].ran("create-md") + p.nodes[1].ran("create-md") }
