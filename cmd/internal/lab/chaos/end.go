package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/decide/resync"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
)

// end lets nothing go wrong any more, and demands that everything comes right: all volumes
// well, all that was acknowledged on every copy, and nothing left when they are deleted.
func (r *run) end(ctx context.Context) {
	for _, a := range r.faults {
		r.mend(a)
	}
	r.faults = nil
	r.s.Cluster.Heal()
	r.say("no fault is left")
	if !r.until(ctx, "all is well", r.unwell) {
		return
	}
	for _, v := range r.left() {
		if err := r.readAll(ctx, v); err != nil {
			r.wrongf("I3: %v", err)
			return
		}
	}
	for _, v := range r.left() {
		if err := r.rvol(ctx, "volume delete "+v.name+" --yes"); err != nil {
			r.wrongf("%v", err)
		}
		r.mu.Lock()
		v.leaving = true
		r.mu.Unlock()
	}
	r.until(ctx, "nothing is left", r.leftovers)
	r.truth.look()
	r.truth.leaks()
}

// left are the volumes that are there.
func (r *run) left() []*volume {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.volumes), func(v *volume) bool { return v.gone })
}

// comeRight is how long everything may take to come right.
const comeRight = 15 * time.Minute

// until waits until there is nothing to say against it, and complains if that takes too long.
func (r *run) until(ctx context.Context, what string, why func(context.Context) string) bool {
	said := ""
	for begun := time.Now(); time.Since(begun) < r.patience && r.failed() == nil; {
		time.Sleep(5 * time.Second)
		r.check(ctx)
		r.obey(ctx)
		before := said
		if said = why(ctx); said != before && said != "" {
			r.say("not yet: %s", said)
		}
		if said == "" {
			r.say("%s, after %s", what, time.Since(begun).Round(time.Second))
			return r.failed() == nil
		}
	}
	r.wrongf("I7: %s: not after %s without faults: %s\n%s", what, r.patience, said, r.kernels(ctx))
	return false
}

// obey does what operators are told where DRBD 8.4 waits to hear that the other copy is filled,
// and the agent there was not alive to say it.
func (r *run) obey(ctx context.Context) {
	for _, v := range r.left() {
		r.mu.Lock()
		told := slices.ContainsFunc(v.seen.GetConditions(), func(c *adminv1.Condition) bool {
			return c.GetReason() == resync.Unnoticed
		})
		r.mu.Unlock()
		if !told {
			continue
		}
		for _, n := range r.s.Nodes() {
			tool := drbd.New(n.DRBD.Run, r.DRBD)
			up, err := tool.Status(ctx, "rvol-"+v.name)
			if err != nil || !slices.ContainsFunc(up.Peers, filled) {
				continue // it is not there, or it is the one that waits
			}
			for _, d := range up.Devices {
				r.say("%s is told by %s that it is filled: %v", v.name, n.Name, tool.TellPeer(ctx, d.Minor))
			}
		}
	}
}

// filled says that nothing is copied to or from a peer, as far as is known here.
func filled(p drbd.Peer) bool {
	return !slices.ContainsFunc(p.Devices, func(d drbd.PeerDevice) bool { return d.Repl != drbd.Established })
}

// kernels is what DRBD has of the volumes that are not well, for people.
func (r *run) kernels(ctx context.Context) string {
	var out strings.Builder
	for _, v := range r.left() {
		if r.restless(v) == "" {
			continue
		}
		for _, n := range r.s.Nodes() {
			up, err := drbd.New(n.DRBD.Run, r.DRBD).Status(ctx, "rvol-"+v.name)
			if err == nil {
				fmt.Fprintf(&out, "%s on %s: %+v\n", v.name, n.Name, up)
			}
		}
	}
	return out.String()
}

// unwell says what is not well yet.
func (r *run) unwell(ctx context.Context) string {
	if why := r.unsound(ctx); why != "" {
		return why
	}
	for _, v := range r.left() {
		if why := r.restless(v); why != "" {
			return why
		}
	}
	return ""
}

// restless says what still goes on with a volume. What was asked for and given up meanwhile
// is not waited for.
func (r *run) restless(v *volume) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch state := v.seen.GetState(); {
	case state != "ready":
		return fmt.Sprintf("%s is %s: %s", v.name, state, v.seen.GetMessage())
	case len(v.seen.GetTransitions()) > 0:
		return fmt.Sprintf("%s changes: %s", v.name, v.seen.GetTransitions()[0].GetTitle())
	}
	for _, a := range v.seen.GetAttachments() {
		if !attached(v.seen, a.GetNode()) {
			return fmt.Sprintf("%s is not Primary on %s: %s", v.name, a.GetNode(), a.GetMessage())
		}
	}
	v.settle()
	return ""
}

// unsound says what the cluster's own check finds, and who is not there.
func (r *run) unsound(ctx context.Context) string {
	conn := r.client.leader(ctx)
	if conn == nil {
		return "there is no leader"
	}
	found, err := r.judge(ctx, conn)
	if err != nil {
		return err.Error()
	}
	for _, v := range found.GetInvariants() {
		if v.GetStatus() != "True" && v.GetId() != "I3" && v.GetId() != "I6" {
			return fmt.Sprintf("%s is %s: %s", v.GetId(), v.GetStatus(), strings.Join(v.GetFindings(), "; "))
		}
	}
	return r.unready(ctx, conn)
}

// unready says which node is not there.
func (r *run) unready(ctx context.Context, conn grpc.ClientConnInterface) string {
	for i, n := range r.s.Nodes() {
		if n.Off() || !n.AgentRuns() || i < coordinators && !n.CoordinatorRuns() {
			return n.Name + " does not run everything"
		}
	}
	var list *adminv1.ListNodesResponse
	err := fresh(ctx, func(ctx context.Context, opts ...grpc.CallOption) (err error) {
		list, err = adminv1.NewNodesClient(conn).List(ctx, &adminv1.ListRequest{}, opts...)
		return err
	})
	if err != nil {
		return err.Error()
	}
	for _, n := range list.GetNodes() {
		if !n.GetReady() {
			return fmt.Sprintf("%s is NotReady: %s", n.GetMeta().GetName(), n.GetStatusReason())
		}
	}
	return ""
}

// readAll reads what was acknowledged to a volume on each of its copies.
func (r *run) readAll(ctx context.Context, v *volume) error {
	r.mu.Lock()
	user := v.uses
	r.mu.Unlock()
	for _, p := range v.copies() {
		node := p.GetNode()
		if user != "" && user != node {
			if err := r.detach(ctx, v, user); err != nil {
				return err
			}
			user = ""
		}
		if user == "" {
			v.permit(node)
			if err := r.rvol(ctx, "volume attach "+v.name+" "+node+" --wait"); err != nil {
				return err
			}
			user = node
		}
		if err := v.verify(ctx, node); err != nil {
			return err
		}
		r.counts.add("blocks read at the end", "", v.count())
	}
	if user == "" {
		return nil
	}
	return r.detach(ctx, v, user)
}

// detach waits for a write that is under way: a device that is written to is held open.
func (r *run) detach(ctx context.Context, v *volume, node string) (err error) {
	for range 10 {
		if err = r.rvol(ctx, "volume detach "+v.name+" "+node+" --wait"); err == nil || !strings.Contains(err.Error(), "held open") {
			return err
		}
		pause(ctx, time.Second)
	}
	return err
}

// leftovers says what there still is.
func (r *run) leftovers(ctx context.Context) string {
	if why := r.unsound(ctx); why != "" {
		return why
	}
	for _, v := range r.left() {
		return v.name + " is still there"
	}
	for _, n := range r.s.Nodes() {
		holds, err := r.s.Holds(ctx, n.Name)
		if err != nil {
			return err.Error()
		}
		if strings.Contains(holds, "rvol-") || strings.Contains(holds, "file ") || strings.Contains(holds, "link ") {
			return n.Name + " still holds\n" + holds
		}
	}
	return ""
}
