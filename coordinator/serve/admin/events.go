package admin

import (
	"context"
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
	out := &adminv1.ListEventsResponse{}
	from := r.GetSince()
	if from == 0 {
		from = s.Trail.First()
	}
	for {
		headers, err := s.Trail.Read(from, page)
		if err != nil {
			return nil, err
		}
		if len(headers) == 0 {
			return out, nil
		}
		v := s.Store.View()
		for _, h := range headers {
			if concerns(v, h, r) && !before(h, r) {
				out.Events = append(out.Events, eventOf(h))
			}
		}
		if over := len(out.Events) - int(r.GetLimit()); r.GetLimit() > 0 && over > 0 {
			out.Events = out.Events[over:]
		}
		from = headers[len(headers)-1].Index + 1
	}
}

// Watch goes on from an index without gaps, or fails with model.ErrCompacted.
func (s *events) Watch(r *adminv1.ListEventsRequest, stream grpc.ServerStreamingServer[adminv1.Event]) error {
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
	e := &adminv1.Event{Index: h.Index, Number: int32(h.Number), Time: timestamp(h.Time), Cause: h.Cause, Actor: h.Actor}
	for _, keys := range [][]model.Key{h.Put, h.Delete} {
		for _, k := range keys {
			e.Objects = append(e.Objects, k.String())
		}
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
	if h.Refusal != nil || len(h.Put)+len(h.Delete) == 0 {
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
