package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// The operations.
const (
	opCreate   = "create"
	opAttach   = "attach"
	opDetach   = "detach"
	opWrite    = "write"
	opResize   = "resize"
	opMove     = "move"
	opDelete   = "delete"
	opTransfer = "transfer leadership"
)

// class is what volumes are made of.
type class struct {
	name, flags string
	three       bool // copies, which DRBD 8.4 cannot have
}

var classes = []class{
	{name: "one", flags: "--ftt 0 --gmdr 0 --type LVMThin --vg vg1 --thin-pool tp"},
	{name: "two", flags: "--ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed"},
	{name: "safe", flags: "--ftt 0 --gmdr 1 --type LVMThin --vg vg1 --thin-pool tp"},
	{name: "three", flags: "--ftt 1 --gmdr 1 --type LVM --vg vg0 --trust-zeroed", three: true},
}

// classes are those that take part.
func (r *run) classes() []class {
	return slices.DeleteFunc(slices.Clone(classes), func(c class) bool { return c.three && r.DRBD.Is84() })
}

// work is something that a user does.
type work struct {
	op   string
	with func(r *run, v *volume) bool // a volume that it can be done with; nil: it needs none
	do   func(ctx context.Context, r *run, rnd *rand.Rand, v *volume)
}

// mostVolumes is how many there are at a time.
const mostVolumes = 5

func (r *run) possible() []work {
	for _, op := range []string{opCreate, opAttach, opDetach, opWrite, opResize, opMove, opDelete, opTransfer} {
		r.counts.expect(doneGroup, op)
	}
	idle := func(_ *run, v *volume) bool { return v.formed && !v.leaving && v.goal == nil && v.asked == 0 }
	atRest := func(r *run, v *volume) bool { return idle(r, v) && v.uses == "" }
	return []work{
		{op: opCreate, do: create},
		{op: opAttach, with: atRest, do: attach},
		{op: opAttach, with: atRest, do: attach},
		{op: opDetach, with: func(r *run, v *volume) bool { return idle(r, v) && v.uses != "" }, do: detach},
		{op: opResize, with: idle, do: resize},
		{op: opMove, with: idle, do: move},
		{op: opDelete, with: func(r *run, v *volume) bool { return atRest(r, v) && r.living() > 2 }, do: remove},
		{op: opTransfer, do: transfer},
	}
}

// living is how many volumes there are.
func (r *run) living() int {
	n := 0
	for _, v := range r.volumes {
		if !v.leaving {
			n++
		}
	}
	return n
}

// work begins one operation.
func (r *run) work(ctx context.Context) {
	w := r.works.deal(r.rnd)
	rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 1))
	r.mu.Lock()
	var fit []*volume
	for _, v := range r.volumes {
		if w.with != nil && w.with(r, v) {
			fit = append(fit, v)
		}
	}
	full := r.living() >= mostVolumes
	r.mu.Unlock()
	var v *volume
	switch {
	case w.with != nil && len(fit) == 0, w.op == opCreate && full:
		return
	case w.with != nil:
		v = fit[rnd.IntN(len(fit))]
	}
	r.counts.add(askedGroup, w.op, 1)
	w.do(ctx, r, rnd, v)
}

// ask makes a request about a volume beside everything else, and then tells what came of it.
func (v *volume) ask(ctx context.Context, rnd *rand.Rand, what string, do call, then func(err error)) {
	r := v.r
	r.say("%s", what)
	r.mu.Lock()
	v.asked++
	r.mu.Unlock()
	r.tasks.Go(func() {
		err := r.client.change(ctx, rnd, do)
		r.mu.Lock()
		defer r.mu.Unlock()
		v.asked--
		if err != nil {
			r.say("%s: %v", what, err)
		}
		then(err)
	})
}

// await sets what is waited for, while r.mu is held.
func (v *volume) await(op string, done func(*adminv1.Volume) bool) {
	v.goal = &goal{op: op, done: done, till: time.Now().Add(10 * time.Minute)}
}

func create(ctx context.Context, r *run, rnd *rand.Rand, _ *volume) {
	r.made++
	all := r.classes()
	c := all[rnd.IntN(len(all))]
	size := int64(8+4*rnd.IntN(3)) << 20
	v := &volume{
		r: r, name: fmt.Sprintf("v%d", r.made), blocks: map[int64]acked{}, doubtful: map[int64]bool{}, may: map[string]bool{}, writers: map[string]bool{},
	}
	v.life, v.stop = context.WithCancel(ctx)
	v.await(opCreate, func(seen *adminv1.Volume) bool { return seen.GetFormed() })
	r.mu.Lock()
	r.volumes = append(r.volumes, v)
	r.mu.Unlock()
	v.ask(ctx, rnd, "create "+v.name+" of class "+c.name, func(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
		made, err := adminv1.NewVolumesClient(conn).Create(ctx, &adminv1.CreateVolumeRequest{Name: v.name, Class: c.name, Sizes: []int64{size}})
		return made.GetMeta().GetUid(), err
	}, func(err error) {
		switch {
		case err == nil:
			v.acked = true
		case !errors.Is(err, errUnknown):
			v.leaving, v.gone, v.goal = true, true, nil
		}
	})
}

func attach(ctx context.Context, r *run, rnd *rand.Rand, v *volume) {
	node := v.place(rnd)
	if node == "" {
		return
	}
	v.permit(node)
	r.mu.Lock()
	v.uses = node
	v.await(opAttach, func(seen *adminv1.Volume) bool { return attached(seen, node) })
	r.mu.Unlock()
	v.ask(ctx, rnd, "attach "+v.name+" on "+node, func(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
		a, err := adminv1.NewVolumesClient(conn).Attach(ctx, &adminv1.AttachRequest{Volume: v.name, Node: node})
		return a.GetMeta().GetName(), err
	}, func(err error) {
		if err != nil {
			v.goal = nil
			if !errors.Is(err, errUnknown) {
				v.uses = ""
			}
		}
	})
}

// place is a node with a copy of the volume.
func (v *volume) place(rnd *rand.Rand) string {
	var at []string
	for _, p := range v.copies() {
		at = append(at, p.GetNode())
	}
	if len(at) == 0 {
		return ""
	}
	return at[rnd.IntN(len(at))]
}

// copies are the Diskful replicas that the leader told of.
func (v *volume) copies() []*adminv1.Replica {
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	var out []*adminv1.Replica
	for _, p := range v.seen.GetReplicas() {
		if p.GetType() == "Diskful" && p.GetNode() != "" && p.GetMeta().GetDeletingSince() == nil {
			out = append(out, p)
		}
	}
	return out
}

// attached says that the volume is in use on a node.
func attached(v *adminv1.Volume, node string) bool {
	i := slices.IndexFunc(v.GetReplicas(), func(p *adminv1.Replica) bool { return p.GetNode() == node })
	return i >= 0 && v.GetReplicas()[i].GetRole() == "Primary"
}

func detach(ctx context.Context, r *run, rnd *rand.Rand, v *volume) {
	r.mu.Lock()
	node := v.uses
	v.await(opDetach, func(seen *adminv1.Volume) bool { return len(seen.GetAttachments()) == 0 && !attached(seen, node) })
	r.mu.Unlock()
	v.ask(ctx, rnd, "detach "+v.name+" from "+node, func(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
		_, err := adminv1.NewVolumesClient(conn).Detach(ctx, &adminv1.AttachRequest{Volume: v.name, Node: node})
		return "", unlessGone(err)
	}, v.unlessRefused)
}

// unlessGone takes "not found" for a yes: a request that found the end under way changed
// nothing, and is not remembered.
func unlessGone(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

func resize(ctx context.Context, r *run, rnd *rand.Rand, v *volume) {
	r.mu.Lock()
	to := v.seen.GetDevices()[0].GetSize() + 4<<20
	v.await(opResize, func(seen *adminv1.Volume) bool {
		return len(seen.GetTransitions()) == 0 && seen.GetDevices()[0].GetSize() >= to
	})
	r.mu.Unlock()
	v.ask(ctx, rnd, fmt.Sprintf("resize %s to %d", v.name, to), func(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
		_, err := adminv1.NewVolumesClient(conn).Resize(ctx, &adminv1.ResizeVolumeRequest{Name: v.name, Devices: []*adminv1.VolumeDevice{{Size: to}}})
		return "", err
	}, v.unlessRefused)
}

// unlessRefused gives a goal up with the request.
func (v *volume) unlessRefused(err error) {
	if err != nil {
		v.goal = nil
	}
}

func move(ctx context.Context, r *run, rnd *rand.Rand, v *volume) {
	copies := slices.DeleteFunc(v.copies(), func(p *adminv1.Replica) bool { return p.GetNode() == v.uses })
	free := v.elsewhere()
	if len(copies) == 0 || len(free) == 0 {
		return
	}
	from, to := copies[rnd.IntN(len(copies))], free[rnd.IntN(len(free))]
	r.mu.Lock()
	v.await(opMove, func(seen *adminv1.Volume) bool {
		return len(seen.GetTransitions()) == 0 && slices.ContainsFunc(seen.GetReplicas(), func(p *adminv1.Replica) bool {
			return p.GetNode() == to && p.GetType() == "Diskful" && p.GetDisk() == "UpToDate"
		})
	})
	r.mu.Unlock()
	v.ask(ctx, rnd, fmt.Sprintf("move %s from %s to %s", from.GetMeta().GetName(), from.GetNode(), to), func(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
		_, err := adminv1.NewReplicasClient(conn).Move(ctx, &adminv1.MoveReplicaRequest{
			Name: from.GetMeta().GetName(), To: &adminv1.Place{Node: to}, AcceptSingleCopy: r.DRBD.Is84(),
		})
		return "", err
	}, v.unlessRefused)
}

// elsewhere are the nodes that have nothing of the volume.
func (v *volume) elsewhere() []string {
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	var out []string
	for _, n := range v.r.s.Nodes() {
		if !slices.ContainsFunc(v.seen.GetReplicas(), func(p *adminv1.Replica) bool { return p.GetNode() == n.Name }) {
			out = append(out, n.Name)
		}
	}
	return out
}

func remove(ctx context.Context, r *run, rnd *rand.Rand, v *volume) {
	r.mu.Lock()
	v.leaving = true
	v.await(opDelete, func(seen *adminv1.Volume) bool { return seen == nil })
	v.goal.till = time.Now().Add(1000 * time.Hour)
	r.mu.Unlock()
	v.ask(ctx, rnd, "delete "+v.name, func(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
		_, err := adminv1.NewVolumesClient(conn).Delete(ctx, &adminv1.DeleteRequest{Name: v.name, Confirm: v.name})
		return "", unlessGone(err)
	}, func(err error) {
		if err != nil && !errors.Is(err, errUnknown) {
			v.leaving, v.goal = strings.Contains(err.Error(), "deleting"), nil
		}
	})
}

func transfer(ctx context.Context, r *run, rnd *rand.Rand, _ *volume) {
	to := fmt.Sprintf("n%d", rnd.IntN(coordinators)+1)
	r.say("transfer leadership to %s", to)
	r.tasks.Go(func() {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := adminv1.NewClusterClient(r.client.conns[rnd.IntN(coordinators)]).TransferLeadership(once, &adminv1.TransferLeadershipRequest{To: to})
		if err == nil {
			r.counts.add(doneGroup, opTransfer, 1)
		}
	})
}
