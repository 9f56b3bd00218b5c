package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/redact"
)

// Limits of a support bundle.
const (
	nodesAtOnce  = 4        // that are asked beside each other: what they send is in memory
	nodeBytes    = 24 << 20 // that one node may send
	nodeTime     = time.Minute
	nodeTimeMost = 10 * time.Minute
	bundleEvents = 20_000   // the newest so many
	sourceBytes  = 64 << 20 // of one file of the state
)

type support struct {
	adminv1.UnimplementedSupportServer
	*api
	under sync.Mutex // a bundle is on its way: it takes memory, and time of every node
}

// Bundle streams what helps to find out what is wrong. It goes through one redactor, which knows all secrets of the
// state and of this machine.
func (s *support) Bundle(r *adminv1.BundleRequest, stream grpc.ServerStreamingServer[adminv1.BundlePart]) error {
	v := s.Store.View()
	for _, name := range r.GetNodes() {
		if _, err := find[*model.Node](v, name); err != nil {
			return err
		}
	}
	if !s.under.TryLock() {
		return door.Refuse(model.ErrBusy, model.Key{Kind: model.KindMember, Name: s.Name}, "another support bundle is being made", "wait until it is done")
	}
	defer s.under.Unlock()
	b := &bundle{support: s, stream: stream, clean: redact.New(s.secretsOf(v)...)}
	for _, f := range append([]source{s.request(stream.Context())}, s.sources(stream.Context(), v)...) {
		data, err := f.read()
		file := collect.File{Name: f.name, Data: data}
		if err != nil {
			file.Missing = err.Error()
		}
		if err := b.give("", file); err != nil {
			return err
		}
	}
	return b.nodes(stream.Context(), v, r)
}

// request tells who asked whom, and when.
func (s *support) request(ctx context.Context) source {
	l := s.Leadership()
	told := struct {
		By, Coordinator, Leader string
		At                      time.Time
		Index                   uint64
	}{door.From(ctx).Actor(), s.Name, l.Leader, s.Clock().UTC(), s.Store.Index()}
	return source{"coordinator/request.json", func() ([]byte, error) { return json.MarshalIndent(told, "", "  ") }}
}

// secretsOf are all that the state holds, and this machine.
func (s *support) secretsOf(v state.View) [][]byte {
	list := s.Secrets()
	for secret := range state.All[*model.Secret](v) {
		list = append(list, []byte(secret.Value))
	}
	if c, ok := state.Get[*model.Cluster](v, model.ClusterName); ok {
		list = append(list, c.CAKey)
	}
	return list
}

// bundle is one that is being sent.
type bundle struct {
	*support
	clean *redact.Redactor

	mu     sync.Mutex // files are sent one after the other
	stream grpc.ServerStreamingServer[adminv1.BundlePart]
}

// give sends a file, without its secrets.
func (b *bundle) give(node string, f collect.File) error {
	name, missing := b.clean.Clean([]byte(f.Name)), b.clean.Clean([]byte(f.Missing))
	data := b.clean.Clean(f.Data)
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		n := min(len(data), chunk)
		p := &adminv1.BundlePart{Node: node, File: string(name), Data: data[:n]}
		if data = data[n:]; len(data) == 0 {
			p.FileEnd, p.Missing = true, string(missing)
		}
		if err := b.stream.Send(p); err != nil || p.GetFileEnd() {
			return err
		}
	}
}

// nodes asks the agents, some at a time. One that does not answer is named, and holds nobody up but itself.
func (b *bundle) nodes(ctx context.Context, v state.View, r *adminv1.BundleRequest) error {
	patience := nodeTime
	if s := r.GetNodeSeconds(); s > 0 {
		patience = min(time.Duration(s)*time.Second, nodeTimeMost)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(nodesAtOnce)
	for n := range state.All[*model.Node](v) {
		if len(r.GetNodes()) == 0 || slices.Contains(r.GetNodes(), n.Name) {
			g.Go(func() error { return b.node(ctx, n.Name, patience) })
		}
	}
	return g.Wait()
}

func (b *bundle) node(ctx context.Context, name string, patience time.Duration) error {
	var files []collect.File
	err := errors.New("this coordinator does not lead, and knows no leader: agents cannot be asked")
	if b.Leadership().Leading {
		files, err = b.Collects.Collect(ctx, collect.Ask{Node: name, Time: patience, Bytes: nodeBytes})
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, f := range files {
		f.Name = fmt.Sprintf("nodes/%s/%s", name, f.Name)
		if err := b.give(name, f); err != nil {
			return err
		}
	}
	if err == nil {
		return nil
	}
	return b.give(name, collect.File{Name: "nodes/" + name, Missing: err.Error()})
}
