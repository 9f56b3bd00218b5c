package admin

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type events struct {
	adminv1.UnimplementedEventsServer
	*api
}

// page is how many headers are read at a time.
const page = 1000

// List returns what happened, oldest first.
func (s *events) List(_ context.Context, r *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	if err := checkKinds(r); err != nil {
		return nil, err
	}
	from := r.GetSince()
	if from == 0 {
		from = s.Trail.First()
	}
	found, err := s.happened(from, r)
	return &adminv1.ListEventsResponse{Events: found}, err
}

// happened are the events from an index on that a request asks for.
func (a *api) happened(from uint64, r *adminv1.ListEventsRequest) ([]*adminv1.Event, error) {
	var out []*adminv1.Event
	for {
		headers, err := a.Trail.Read(from, page)
		if err != nil {
			return nil, err
		}
		if len(headers) == 0 {
			return out, nil
		}
		v := a.Store.View()
		for _, h := range headers {
			if concerns(v, h, r) && !before(h, r) {
				out = append(out, eventOf(h))
			}
		}
		if over := len(out) - int(r.GetLimit()); r.GetLimit() > 0 && over > 0 {
			out = out[over:]
		}
		from = headers[len(headers)-1].Index + 1
	}
}

// explained is how many events of a volume explain it, and lookBack among how many entries
// they are looked for: the trail may be long.
const (
	explained = 20
	lookBack  = 20_000
)

// newest are events of the newest entries.
func (a *api) newest(r *adminv1.ListEventsRequest) ([]*adminv1.Event, error) {
	from := a.Trail.First()
	if last := a.Trail.Last(); last > lookBack {
		from = max(from, last-lookBack)
	}
	return a.happened(from, r)
}

// Watch goes on from an index without gaps, or fails with model.ErrCompacted.
func (s *events) Watch(r *adminv1.ListEventsRequest, stream grpc.ServerStreamingServer[adminv1.Event]) error {
	if err := checkKinds(r); err != nil {
		return err
	}
	next := r.GetSince()
	if next == 0 {
		next = s.Trail.Last() + 1
	}
	for {
		headers, err := s.Trail.Read(next, page)
		if err != nil {
			return err
		}
		v := s.Store.View()
		for _, h := range headers {
			if concerns(v, h, r) && !before(h, r) {
				if err := stream.Send(eventOf(h)); err != nil {
					return err
				}
			}
			next = h.Index + 1
		}
		if len(headers) > 0 {
			continue
		}
		if err := s.Trail.Wait(stream.Context(), next-1); err != nil {
			return err
		}
	}
}

func eventOf(h state.Header) *adminv1.Event {
	e := &adminv1.Event{
		Index: h.Index, Number: int32(h.Number), Time: timestamp(h.Time), Cause: h.Cause, Actor: h.Actor, Objects: objectsOf(h), Kind: kindOfEvent(h),
	}
	if h.Refusal != nil {
		e.Refused = h.Refusal.Error()
	}
	return e
}

// before says that the client has it already: several transactions share an index, and a
// stream may end between them.
func before(h state.Header, r *adminv1.ListEventsRequest) bool {
	return h.Index == r.GetSince() && h.Number < int(r.GetSinceNumber())
}

// concerns says whether something happened, and to what is asked about.
func concerns(v state.View, h state.Header, r *adminv1.ListEventsRequest) bool {
	if overtaken(h) || len(h.Put)+len(h.Delete) == 0 {
		return false
	}
	if len(r.GetKinds()) > 0 && !slices.Contains(r.GetKinds(), kindOfEvent(h)) {
		return false
	}
	if r.GetNode() == "" && r.GetVolume() == "" {
		return true
	}
	node, volume := r.GetNode() == "", r.GetVolume() == ""
	for _, keys := range [][]model.Key{h.Put, h.Delete} {
		for _, k := range keys {
			n, vol := whereabouts(v, k)
			node = node || n == r.GetNode()
			volume = volume || vol == r.GetVolume()
		}
	}
	return node && volume
}

// whereabouts says which node and which volume a key is about, where it is still known.
func whereabouts(v state.View, k model.Key) (node, volume string) {
	first, second, _ := strings.Cut(k.Name, "/")
	o, _ := v.Object(k)
	switch k.Kind {
	case model.KindNode, model.KindNodeStatus, model.KindLVG, model.KindCapacity:
		return first, ""
	case model.KindVolume, model.KindVolumeStatus, model.KindDecision:
		return "", first
	case model.KindAttachment:
		return second, first
	case model.KindReplica:
		if r, ok := o.(*model.Replica); ok {
			node = r.Node
		}
		return node, first
	case model.KindReservation:
		if r, ok := o.(*model.Reservation); ok {
			volume, _, _ = strings.Cut(r.Owner, "/")
			return r.Pool.Node, volume
		}
	case model.KindOperation:
		if op, ok := o.(*model.Operation); ok {
			return op.Node, op.Volume
		}
	default: // the others belong to no node and no volume
	}
	return "", ""
}
