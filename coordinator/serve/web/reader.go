package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// What the keys of rows begin with.
const (
	keyCluster   = "cluster"
	keyTrouble   = "trouble"
	prefixNode   = "node/"
	prefixLVG    = "lvg/"
	prefixVolume = "volume/"
	prefixEvent  = "event/"
)

// rank orders rows by how soon they are worth knowing.
func rank(key string) int {
	for i, p := range []string{keyTrouble, keyCluster, prefixNode, prefixLVG, prefixVolume} {
		if strings.HasPrefix(key, p) {
			return i
		}
	}
	return 5
}

const (
	batch     = 40 * time.Millisecond // changes that come together are read together
	everySo   = 15 * time.Second      // everything is read again, whatever is told; a revocation shows at the latest then
	again     = time.Second           // after what failed
	staleTime = 3 * time.Second       // a stream that began without a leader is begun anew
	callTime  = 20 * time.Second
	maxRest   = 2 * time.Second
	few       = 50 // more names than these are not worth naming
)

// headerStale says why an answer may be old.
const headerStale = "rvol-stale"

// lapsed says that a call was refused because of who made it: the session is over.
func lapsed(err error) bool {
	c := status.Code(err)
	return c == codes.PermissionDenied || c == codes.Unauthenticated
}

// reader keeps a feed up to date: it reads everything, and then whatever is said to have changed.
type reader struct {
	*feed
	event  uint64 // index and number of the first event that was not read yet
	number int32
	stale  string
}

// run reads until ctx ends, or the person may no longer look.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.follow(ctx)
		if lapsed(err) {
			r.log.InfoContext(ctx, "a browser's session has lapsed", "err", err)
			r.end(err)
			return
		}
		if err != nil && ctx.Err() == nil {
			r.apply(ctx, update{rows: map[string][]byte{keyTrouble: asJSON(map[string]string{"text": status.Convert(err).Message()})}})
		}
		sleep(ctx, again)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// follow reads everything, and what changes, until the stream of changes breaks.
func (r *reader) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	p := newPending()
	defer func() { cancel(); p.listener.Wait() }()
	stream, err := adminv1.NewEventsClient(r.conn).Changes(ctx, &adminv1.ChangesRequest{})
	if err != nil {
		return err
	}
	header, err := stream.Header() // from here on, nothing is missed
	if err != nil {
		return err
	}
	p.listener.Go(func() { p.listen(stream) })
	p.all()
	fresh := time.NewTicker(everySo)
	defer fresh.Stop()
	var old <-chan time.Time
	if len(header.Get(headerStale)) > 0 {
		old = time.After(staleTime)
	}
	for {
		select {
		case <-p.wake:
		case <-fresh.C:
			p.all()
		case <-old:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		sleep(ctx, batch)
		begun := time.Now()
		if err := r.read(ctx, p.take()); err != nil {
			return err
		}
		sleep(ctx, min(3*time.Since(begun)-batch, maxRest)) // a busy cluster is not made busier
		if err := p.failed(); err != nil {
			return err
		}
	}
}

// read looks at what is said to have changed.
func (r *reader) read(ctx context.Context, w want) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	u := update{rows: map[string][]byte{}, whole: w.all}
	r.stale = ""
	for _, read := range []func(context.Context, want, *update) error{r.cluster, r.nodes, r.lvgs, r.volumes, r.events} {
		if err := read(ctx, w, &u); err != nil {
			return err
		}
	}
	u.rows[keyTrouble] = nil
	if r.stale != "" {
		u.rows[keyTrouble] = asJSON(map[string]string{"text": "What is shown may be old: " + r.stale})
	}
	r.apply(ctx, u)
	return nil
}

// labelled notes why an answer may be old.
func (r *reader) labelled(header metadata.MD) {
	if why := header.Get(headerStale); len(why) > 0 {
		r.stale = why[0]
	}
}

func (r *reader) cluster(ctx context.Context, w want, u *update) error {
	if !w.all && !w.cluster {
		return nil
	}
	var header metadata.MD
	st, err := adminv1.NewClusterClient(r.conn).Status(ctx, &adminv1.ClusterStatusRequest{}, grpc.Header(&header))
	if err != nil {
		return err
	}
	r.labelled(header)
	u.rows[keyCluster] = asJSON(clusterOf(st))
	return nil
}

func (r *reader) nodes(ctx context.Context, w want, u *update) error {
	if !w.all && len(w.nodes) == 0 {
		return nil
	}
	answer, err := adminv1.NewNodesClient(r.conn).List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err
	}
	for _, n := range answer.GetNodes() {
		u.rows[prefixNode+n.GetMeta().GetName()] = asJSON(nodeOf(n))
	}
	u.only = append(u.only, prefixNode)
	return nil
}

func (r *reader) lvgs(ctx context.Context, w want, u *update) error {
	if !w.all && !w.lvgs {
		return nil
	}
	answer, err := adminv1.NewLVGsClient(r.conn).List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err
	}
	for _, g := range answer.GetLvgs() {
		u.rows[prefixLVG+g.GetMeta().GetName()] = asJSON(lvgOf(g))
	}
	u.only = append(u.only, prefixLVG)
	return nil
}

func (r *reader) volumes(ctx context.Context, w want, u *update) error {
	if !w.all && len(w.volumes) == 0 {
		return nil
	}
	q := &adminv1.ListRequest{}
	if !w.all && len(w.volumes) <= few {
		for name := range w.volumes {
			q.Names = append(q.Names, name)
			u.rows[prefixVolume+name] = nil // unless it is still there
		}
	} else {
		u.only = append(u.only, prefixVolume)
	}
	var header metadata.MD
	answer, err := adminv1.NewVolumesClient(r.conn).List(ctx, q, grpc.Header(&header), grpc.MaxCallRecvMsgSize(256<<20))
	if err != nil {
		return err
	}
	r.labelled(header)
	for _, v := range answer.GetVolumes() {
		u.rows[prefixVolume+v.GetMeta().GetName()] = asJSON(volumeOf(v))
	}
	return nil
}

// events reads on where it was, or the newest.
func (r *reader) events(ctx context.Context, w want, u *update) error {
	if !w.all && !w.committed {
		return nil
	}
	q := &adminv1.ListEventsRequest{Since: r.event, SinceNumber: r.number, Limit: maxEvents}
	answer, err := adminv1.NewEventsClient(r.conn).List(ctx, q)
	if status.Code(err) == codes.OutOfRange { // what came between is no longer kept
		r.event, r.number = 0, 0
		answer, err = adminv1.NewEventsClient(r.conn).List(ctx, &adminv1.ListEventsRequest{Limit: maxEvents})
	}
	if err != nil {
		return err
	}
	for _, e := range answer.GetEvents() {
		u.rows[fmt.Sprintf("%s%016d.%06d", prefixEvent, e.GetIndex(), e.GetNumber())] = asJSON(eventOf(e))
		r.event, r.number = e.GetIndex(), e.GetNumber()+1
	}
	return nil
}

// asJSON writes what cannot fail to be written.
func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return text
}
