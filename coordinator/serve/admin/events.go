package admin

import (
	"context"
	"slices"

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
		for _, h := range headers {
			if concerns(h, r) && !before(h, r) {
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
		for _, h := range headers {
			if concerns(h, r) && !before(h, r) {
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
func concerns(h state.Header, r *adminv1.ListEventsRequest) bool {
	if overtaken(h) || len(h.Put)+len(h.Delete) == 0 {
		return false
	}
	if len(r.GetKinds()) > 0 && !slices.Contains(r.GetKinds(), kindOfEvent(h)) {
		return false
	}
	if r.GetNode() == "" && r.GetVolume() == "" {
		return true
	}
	node, volume := isAbout(h)
	return (r.GetNode() == "" || node(r.GetNode())) && (r.GetVolume() == "" || volume(r.GetVolume()))
}

// isAbout says of nodes and of volumes whether a transaction is about them.
func isAbout(h state.Header) (node, volume func(name string) bool) {
	nodes, volumes := slices.Clone(h.Nodes), slices.Clone(h.Volumes)
	for _, keys := range [][]model.Key{h.Put, h.Delete} {
		for _, k := range keys {
			n, v := state.Whereabouts(k, nil)
			nodes, volumes = append(nodes, n), append(volumes, v)
		}
	}
	return func(name string) bool { return slices.Contains(nodes, name) },
		func(name string) bool { return slices.Contains(volumes, name) }
}
