package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"

	adminv1 "rvol/proto/admin/v1"
)

// ledger is what one volume group or thin pool last showed.
type ledger struct{ limit, reserved int64 }

// look asks the leader, if there is one, what there is, and judges it.
func (r *run) look(ctx context.Context) {
	conn := r.client.leader(ctx)
	if conn == nil {
		r.counts.add("steps without a leader", "", 1)
		return
	}
	r.lookAtVolumes(ctx, conn)
	r.lookAtSpace(ctx, conn)
	if found, err := r.judge(ctx, conn); err == nil {
		for _, v := range found.GetInvariants() {
			// What is left over now goes in the end, and a limit may fall: growth is judged by lookAtSpace.
			if v.GetStatus() == "False" && v.GetId() != "I7" && v.GetId() != "I1" {
				r.wrongf("%s: %s: %s", v.GetId(), v.GetSays(), strings.Join(v.GetFindings(), "; "))
			}
		}
	}
}

func (r *run) judge(ctx context.Context, conn grpc.ClientConnInterface) (found *adminv1.ClusterCheck, err error) {
	err = fresh(ctx, func(ctx context.Context, opts ...grpc.CallOption) error {
		found, err = adminv1.NewClusterClient(conn).Check(ctx, &adminv1.ClusterCheckRequest{}, opts...)
		return err
	})
	return found, err
}

// lookAtVolumes compares the volumes that there are with those that were acknowledged, and
// sees which operations have come to their end.
func (r *run) lookAtVolumes(ctx context.Context, conn grpc.ClientConnInterface) {
	must, mustNot := r.acknowledged() // before the question
	var list *adminv1.ListVolumesResponse
	err := fresh(ctx, func(ctx context.Context, opts ...grpc.CallOption) (err error) {
		list, err = adminv1.NewVolumesClient(conn).List(ctx, &adminv1.ListRequest{}, opts...)
		return err
	})
	if err != nil {
		return
	}
	there := map[string]*adminv1.Volume{}
	for _, v := range list.GetVolumes() {
		there[v.GetMeta().GetName()] = v
	}
	for _, name := range must {
		if there[name] == nil {
			r.wrongf("I3: volume %s was acknowledged, and is not there", name)
		}
	}
	for _, name := range mustNot {
		if there[name] != nil {
			r.wrongf("I3: volume %s was gone, and is there again", name)
		}
	}
	r.mu.Lock()
	var gone []*volume
	for _, v := range r.volumes {
		if !v.gone && r.saw(v, there[v.name]) {
			gone = append(gone, v)
		}
	}
	r.mu.Unlock()
	for _, v := range gone {
		v.end()
	}
}

// acknowledged lists the volumes that must be there, and those that must not.
func (r *run) acknowledged() (must, mustNot []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.volumes {
		switch {
		case v.gone:
			mustNot = append(mustNot, v.name)
		case v.acked && !v.leaving:
			must = append(must, v.name)
		}
	}
	return must, mustNot
}

// saw takes what the leader tells of a volume, nil being nothing; it reports that the
// volume is gone. It is called with r.mu held.
func (r *run) saw(v *volume, seen *adminv1.Volume) (gone bool) {
	if seen == nil && !v.leaving {
		return false // not made yet, or told above
	}
	v.seen = seen
	v.wasFormed, v.formed = v.formed, v.formed || seen.GetFormed()
	if v.formed && seen != nil && !seen.GetFormed() {
		r.wrongfLocked("I5: volume %s was formed, and is not any more", v.name)
	}
	v.watchAll()
	switch g := v.goal; {
	case g == nil:
	case g.done(seen):
		r.counts.add(doneGroup, g.op, 1)
		v.goal = nil
	case time.Now().After(g.till):
		r.say("%s of %s: nobody waits any longer", g.op, v.name)
		v.goal = nil
	}
	if v.goal == nil {
		v.settle()
	}
	v.gone = seen == nil
	return v.gone
}

// watchAll has a writer wherever the volume is. It is called with run.mu held.
func (v *volume) watchAll() {
	for _, p := range v.seen.GetReplicas() {
		if n := p.GetNode(); n != "" && !v.writers[n] {
			v.writers[n] = true
			v.watch(v.life, n)
		}
	}
}

// settle takes the volume as it is. It is called with run.mu held.
func (v *volume) settle() {
	v.goal, v.uses = nil, ""
	for _, a := range v.seen.GetAttachments() {
		v.uses = a.GetNode()
	}
}

// lookAtSpace demands that nothing grows past what there is.
func (r *run) lookAtSpace(ctx context.Context, conn grpc.ClientConnInterface) {
	var list *adminv1.ListLVGsResponse
	err := fresh(ctx, func(ctx context.Context, opts ...grpc.CallOption) (err error) {
		list, err = adminv1.NewLVGsClient(conn).List(ctx, &adminv1.ListRequest{}, opts...)
		return err
	})
	if err != nil {
		return
	}
	for _, g := range list.GetLvgs() {
		for _, s := range g.GetSpaces() {
			name := g.GetMeta().GetName() + "/" + s.GetThinPool()
			now, before := ledger{s.GetLimit(), s.GetReserved()}, r.lvs[name]
			if now.reserved > now.limit && now.reserved > before.reserved && now.limit >= before.limit && before.limit > 0 {
				r.wrongf("I1: %s grew from %d to %d reserved bytes, its limit is %d", name, before.reserved, now.reserved, now.limit)
			}
			r.lvs[name] = now
		}
	}
}

// wrongfLocked is wrongf for who holds r.mu.
func (r *run) wrongfLocked(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf("after %s: "+format, append([]any{time.Since(r.begun).Round(time.Millisecond)}, args...)...))
}
