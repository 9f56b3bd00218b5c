package admin

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Changes tells which objects changed since the client was last told; a slow one is told
// of several changes at once. What only agents saw has no index.
func (s *events) Changes(r *adminv1.ChangesRequest, stream grpc.ServerStreamingServer[adminv1.Change]) error {
	n := &news{wake: make(chan struct{}, 1), keys: map[model.Key]uint64{}}
	defer s.Store.Watch(func(index uint64, keys []model.Key) {
		if keys == nil {
			n.add(model.Key{}, index) // everything may have
		}
		for _, k := range keys {
			n.add(k, index)
		}
	})()
	defer s.Inventory.Watch(func(node string) {
		for _, k := range seenOn(s.Store.View(), node) {
			n.add(k, 0)
		}
	})()
	if err := stream.SendHeader(nil); err != nil { // from here on, nothing is missed
		return err
	}
	for {
		select {
		case <-n.wake:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		for _, c := range n.take() {
			if !asksFor(r, c) {
				continue
			}
			if err := stream.Send(c); err != nil {
				return err
			}
		}
	}
}

func asksFor(r *adminv1.ChangesRequest, c *adminv1.Change) bool {
	return len(r.GetKinds()) == 0 || c.GetKind() == "" || slices.Contains(r.GetKinds(), c.GetKind())
}

// news gathers what a client has not been told yet.
type news struct {
	wake chan struct{}

	mu   sync.Mutex
	keys map[model.Key]uint64
}

func (n *news) add(k model.Key, index uint64) {
	n.mu.Lock()
	n.keys[k] = max(n.keys[k], index)
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default: // it has not come round yet
	}
}

func (n *news) take() []*adminv1.Change {
	n.mu.Lock()
	keys := n.keys
	n.keys = map[model.Key]uint64{}
	n.mu.Unlock()
	sorted := slices.SortedFunc(maps.Keys(keys), func(a, b model.Key) int {
		return slices.Compare([]string{string(a.Kind), a.Name}, []string{string(b.Kind), b.Name})
	})
	var out []*adminv1.Change
	for _, k := range sorted {
		out = append(out, &adminv1.Change{Index: keys[k], Kind: string(k.Kind), Name: k.Name})
	}
	return out
}

// seenOn lists what is shown with facts that the agent of a node reports.
func seenOn(v state.View, node string) []model.Key {
	keys := []model.Key{{Kind: model.KindNode, Name: node}}
	for l := range state.Under[*model.LVG](v, node+"/") {
		keys = append(keys, l.Key())
	}
	for r := range v.ReplicasOn(node) {
		keys = append(keys, r.Key(), model.Key{Kind: model.KindVolume, Name: r.Volume})
	}
	for a := range v.AttachmentsOn(node) {
		keys = append(keys, a.Key())
	}
	return keys
}
