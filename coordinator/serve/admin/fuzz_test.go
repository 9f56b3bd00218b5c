package admin

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// verb is one call of the API, as gRPC would make it.
type verb struct {
	name   string
	handle func(ctx context.Context, b []byte) (any, error)
}

// verbs collects the calls of one request and one answer.
type verbs []verb

// RegisterService is what gRPC's registrar does.
func (vs *verbs) RegisterService(d *grpc.ServiceDesc, impl any) {
	for _, m := range d.Methods {
		*vs = append(*vs, verb{d.ServiceName + "/" + m.MethodName, func(ctx context.Context, b []byte) (any, error) {
			return m.Handler(impl, ctx, func(in any) error {
				if err := proto.Unmarshal(b, in.(proto.Message)); err != nil {
					return status.Error(codes.InvalidArgument, "not a message")
				}
				return nil
			}, nil)
		}})
	}
}

// expected are the errors that a client is told; any other is a fault of ours.
var expected = []error{
	model.ErrInvalid, model.ErrNotFound, model.ErrExists, model.ErrConflict, model.ErrNoSpace, model.ErrQuota, model.ErrBusy, model.ErrForbidden,
	model.ErrUnavailable, model.ErrCompacted, identity.ErrInvalidToken, identity.ErrWrongToken, identity.ErrTokenExpired, identity.ErrTokenUsed, identity.ErrTokenName,
}

// FuzzCalls makes any call of the API with any request: nothing panics, every refusal is one that a client is told,
// and what was accepted gives the same state when it is replayed from a snapshot.
func FuzzCalls(f *testing.F) {
	for i, seed := range []proto.Message{
		&adminv1.ListRequest{Names: []string{"db-1"}, Selector: "team in (a,b)"},
		&adminv1.CreateVolumeRequest{Name: "db-2", Class: "r2", Sizes: []int64{1 << 30}, Labels: map[string]string{"team": "a"}},
		&adminv1.SetNodeRequest{Name: "n1"},
		&adminv1.DeleteRequest{Name: "db-1", Confirm: "db-1"},
		&adminv1.FenceNodeRequest{Name: "n1", Confirm: "n1"},
		&adminv1.Quota{Meta: &adminv1.Meta{Name: "q"}, Selector: "team=a", Bytes: new(int64(-1)), Volumes: new(int32(3))},
		&adminv1.ApplyRequest{Objects: []*adminv1.Wanted{
			given("n1", &adminv1.NodeSpec{Zone: "z1"}, "zone"), given("gold", &adminv1.ClassSpec{Ftt: 1, Gmdr: 9, Pool: "p"}, "ftt", "gmdr", "pool"),
		}},
		&adminv1.ResizeVolumeRequest{Name: "db-1", Devices: []*adminv1.VolumeDevice{{Number: 0, Size: 1 << 62}}},
	} {
		b, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(i), b)
		f.Add(uint16(i*7+3), b)
	}
	f.Fuzz(func(t *testing.T, which uint16, b []byte) {
		w, _ := clustered(t)
		for _, n := range []string{"n1", "n2"} {
			w.node(n)
			w.offer(n, "vg0", 1000)
		}
		w.class("n1", "n2")
		w.formed("db-1", "n1", "n2")
		w.attached("db-1", "n1")
		var all verbs
		Services(w.Config)(&all)
		v := all[int(which)%len(all)]
		_, err := v.handle(w.as(identity.Admin, "request"), b)
		if err != nil && !told(err) {
			t.Errorf("%s: %v: no client is told such a thing", v.name, err)
		}
		if err := replayed(w); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	})
}

func told(err error) bool {
	if s, ok := status.FromError(err); ok {
		return s.Code() != codes.Unknown && s.Code() != codes.Internal
	}
	for _, e := range expected {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// replayed says how the state differs from what a snapshot of it brings back.
func replayed(w *world) error {
	again := state.NewStore(state.Options{})
	var saved bytes.Buffer
	_, err := w.Store.View().WriteTo(&saved)
	if err == nil {
		err = again.Restore(&saved)
	}
	if err == nil && again.Hash() != w.Store.Hash() {
		err = errors.New("a snapshot brings another state back")
	}
	return err
}
