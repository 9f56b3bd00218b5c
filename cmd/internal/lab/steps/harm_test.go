package steps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// harm is what would happen without a guard.
type harm struct {
	guard string // its name
	old   bool   // on DRBD 8.4
	given layout.Layout
	class layout.Layout
	spare int
	ready func(*world) // what there is before the plan begins; nil: nothing else
	start func(transition.Input) (transition.Outcome, error)
	until string       // the step that is over when the guard is asked
	upset func(*world) // what makes the guard speak
	says  string
	force func(*model.Datamesh) // what the step does to the mesh
	also  func(*world)          // what else it does; nil: nothing
	harm  func(*world) string   // "": there was none
	kills bool                  // looking for it takes a node away: it is not done twice
}

// become is what a step makes of a member.
func become(id int, typ model.ReplicaType, quorum int) func(*model.Datamesh) {
	return func(m *model.Datamesh) {
		for i := range m.Members {
			if m.Members[i].ID == id {
				m.Members[i].Type = typ
			}
		}
		m.Quorum = quorum
	}
}

// without is a mesh that a member has left.
func without(id int) func(*model.Datamesh) {
	return func(m *model.Datamesh) {
		m.Members = slices.DeleteFunc(m.Members, func(o model.DatameshMember) bool { return o.ID == id })
	}
}

// frozen says that the volume's user has no quorum.
func frozen(w *world) string {
	time.Sleep(20 * time.Second)
	if r, up := w.node(w.attached).kernel(); !up || !r.Devices[0].Quorum {
		return "the Primary has no quorum"
	}
	return ""
}

// unread says that the volume's user cannot read what was acknowledged.
func unread(w *world) string {
	time.Sleep(20 * time.Second)
	return w.lost(w.node(w.attached).read(w))
}

func harms() []harm {
	anywhere := model.ReplicaPlace{}
	return append(oddHarms(), []harm{
		{
			guard: "connectedSubject", given: class(1, 0), class: class(1, 0), spare: 1, until: transition.JoinMesh,
			start: func(in transition.Input) (transition.Outcome, error) { return transition.AddDiskful(in, anywhere) },
			upset: func(w *world) { w.nodes[3].kill() },
			says:  "replica 3 (n3): no report of its node",
			// The newcomer that is not there counts as one that failed: the volume bears no other.
			force: become(3, model.LiminalDiskful, 2),
			harm:  func(w *world) string { w.nodes[1].kill(); return frozen(w) },
			kills: true,
		},
		{
			guard: "votesStay", given: with(class(1, 0), 3, 0), class: with(class(1, 0), 2, 0), until: transition.DetachDisk,
			start: func(in transition.Input) (transition.Outcome, error) { return transition.RemoveDiskful(in, 1) },
			upset: func(w *world) { // its agent would bring it up again
				w.nodes[2].rest()
				w.ok(w.nodes[2].tool().Down(w.Context(), resource))
			},
			says: "1 of the 2 copies that stay are there, 2 are needed",
			// The vote that goes was one of the two that kept the volume in use.
			force: become(1, model.Access, 2),
			harm:  func(w *world) string { w.nodes[2].kill(); return frozen(w) },
			kills: true,
		},
		{
			guard: "enoughCopies", given: with(class(0, 0), 2, 0), class: class(0, 0),
			start: func(in transition.Input) (transition.Outcome, error) { return transition.RemoveDiskful(in, 1) },
			upset: func(w *world) { // the other copy is lost to an I/O error, and what is written is on this one alone
				w.ok(w.nodes[0].tool().Detach(w.Context(), minor))
				w.write("without the first copy")
			},
			says:  "without replica 1 there are 0 UpToDate copies, 1 are needed",
			force: become(1, model.LiminalDiskful, 2),
			harm:  unread,
		},
		{
			guard: "noResyncFrom", given: with(class(1, 0), 3, 0), class: with(class(1, 0), 2, 0),
			start: func(in transition.Input) (transition.Outcome, error) { return transition.RemoveDiskful(in, 1) },
			upset: func(w *world) { // one copy is lost, one is being filled anew from the one that is to go
				w.ok(w.nodes[0].tool().Detach(w.Context(), minor))
				w.ok(w.nodes[2].tool().Invalidate(w.Context(), minor))
				time.Sleep(time.Second)
			},
			says:  "replica 1 (n1) is being copied from",
			force: become(1, model.LiminalDiskful, 2),
			harm:  unread,
		},
		{
			guard: "copiesUpToDate", given: class(1, 0), class: class(1, 0), until: transition.LeaveMesh,
			start: change{given: class(1, 0), to: new(class(0, 1))}.change,
			upset: func(w *world) {
				w.ok(w.nodes[1].tool().Invalidate(w.Context(), minor))
				time.Sleep(time.Second)
			},
			says: "1 copies are UpToDate, 2 are to be required of every write",
			// Every write would need a copy that is not there yet.
			force: func(m *model.Datamesh) { m.QuorumMinimumRedundancy = 2 },
			harm:  frozen,
		},
		{
			guard: "copiesStay", old: true, given: with(class(0, 1), 2, 0), class: class(0, 0), spare: 1, until: transition.PlaceReplica,
			start: func(in transition.Input) (transition.Outcome, error) {
				return transition.Replace(in, 1, anywhere, true)
			},
			upset: func(w *world) {
				w.ok(w.nodes[0].tool().Detach(w.Context(), minor))
				w.write("without the first copy")
			},
			says:  "without replica 1 there are 0 UpToDate copies, 1 are needed",
			force: without(1),
			harm:  unread,
		},
		{
			guard: "notInUse", given: class(1, 0), class: class(1, 0), spare: 1,
			ready: func(w *world) {
				w.carryOut(func(in transition.Input) (transition.Outcome, error) { return transition.AddAccess(in, "n3") }, nil)
			},
			start: func(in transition.Input) (transition.Outcome, error) { return transition.RemoveAccess(in, 3) },
			upset: func(w *world) { w.attach(w.nodes[3]) },
			says:  "replica 3 (n3) is in use on its node",
			// The device is taken from under its user.
			force: without(3),
			harm:  unread,
		},
	}...)
}

// attach moves the volume to a node.
func (w *world) attach(n *node) {
	w.Helper()
	before := w.attached
	w.attached = n.Name
	w.tellAgain(w.node(before))
	w.tellAgain(n)
	w.until("attached", func() string { return w.unhealthy(drbd.UpToDate) })
}

// TestWhatGuardsProtectFrom stands each plan before a step whose guard speaks, and shows
// that the guard holds it back; then takes the step by hand, and shows the harm.
func TestWhatGuardsProtectFrom(t *testing.T) {
	for _, h := range harms() {
		t.Run(h.guard, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, version(h.old), h.given, h.spare)
				defer w.close()
				w.layout = h.class
				w.write("before")
				if h.ready != nil {
					h.ready(w)
				}
				w.show(h)
			})
		})
	}
}

func (w *world) show(h harm) {
	w.Helper()
	out, err := h.start(w.input())
	w.ok(err)
	w.take(out)
	w.tellAll()
	if h.until != "" {
		w.until(h.until, func() string { return w.reach(h.until) })
	}
	if h.upset != nil {
		h.upset(w)
	}
	said := ""
	for range 100 {
		out := transition.Next(w.input())
		if said = out.Wait; !out.Changed() && said != "" {
			break
		}
		w.take(out)
		w.tellAll()
		time.Sleep(time.Second)
	}
	if !strings.Contains(said, h.says) {
		w.Fatalf("the guard says %q, want %q\n%s", said, h.says, w.says())
	}
	if !h.kills {
		if why := h.harm(w); why != "" {
			w.Fatalf("harm without the step: %s\n%s", why, w.says())
		}
	}
	w.status = model.Clone(w.status)
	mesh := &w.status.Datamesh
	mesh.Members = slices.Clone(mesh.Members)
	if h.force != nil {
		h.force(mesh)
		mesh.Revision++
	}
	if h.also != nil {
		h.also(w)
	}
	w.tellAll()
	why := h.harm(w)
	if why == "" {
		w.Fatalf("nothing happens without the guard:\n%s", w.says())
	}
	w.Logf("without the guard: %s", why)
}

// reach goes on until a step is over.
func (w *world) reach(step string) string {
	for _, s := range w.status.Transitions[0].Steps {
		if s.Name == step && s.Status == model.StepActive {
			if out := transition.Next(w.input()); !out.Changed() && out.Wait != "" {
				return out.Wait
			}
			return "" // confirmed: what follows is the next step's guard
		}
	}
	out := transition.Next(w.input())
	if !out.Changed() {
		time.Sleep(5 * time.Second)
		return fmt.Sprint("waiting: ", out.Wait)
	}
	w.take(out)
	w.tellAll()
	return "on the way"
}

// TestTheLastCopyIsNotGivenUp: the node with the newest data is off, fenced, and is given
// up by force although what is left is older.
func TestTheLastCopyIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, version(false), class(1, 0), 0)
		defer w.close()
		w.write("both have it")
		w.attach(w.nodes[1])
		w.nodes[0].kill()
		time.Sleep(20 * time.Second)
		w.write("only the second has it")
		w.nodes[1].kill()
		w.nodes[0].boot()
		w.tellAgain(w.nodes[0])
		time.Sleep(20 * time.Second)
		in := w.input()
		in.Members[1].Fenced = true
		if _, err := transition.ForceRemove(in, 1); err == nil || !strings.Contains(err.Error(), "what was written last would be given up with it") {
			t.Fatalf("guard says %v", err)
		}
		if why := w.lost(w.nodes[0].raw(w)); why == "" {
			t.Error("the copy that is left lacks nothing")
		}
	})
}
