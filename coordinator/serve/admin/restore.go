package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// maxSnapshot is how large a snapshot may be, in bytes: it is held in memory twice.
const maxSnapshot = 4 << 30

// RestoreSnapshot replaces the state of the whole cluster by a saved one, which begins a
// new incarnation. Nothing is removed anywhere before somebody has accepted it.
func (s *cluster) RestoreSnapshot(stream grpc.ClientStreamingServer[adminv1.RestoreSnapshotRequest, adminv1.Done]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := confirmed(model.Key{Kind: model.KindCluster, Name: s.clusterID()}, first.GetConfirm()); err != nil {
		return err
	}
	saved := state.NewStore(state.Options{})
	if err := saved.Restore(&chunkReader{stream: stream, rest: first.GetData()}); err != nil {
		return fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	head, data, err := s.renewed(saved, door.From(ctx).Actor(), s.Clock())
	if err != nil {
		return err
	}
	if err := s.Raft.Restore(ctx, head, int64(data.Len()), data); err != nil {
		return err
	}
	rev, err := s.write(ctx, "/restored", func(v state.View, b *state.Build) (*state.Build, error) {
		c, err := find[*model.Cluster](v, model.ClusterName)
		if err != nil {
			return nil, err
		}
		return b.Because("the state was " + c.Restored).Put(c), nil // for the trail, which begins anew
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(&adminv1.Done{Revision: rev, Message: fmt.Sprintf("%d objects were restored", head.Objects)})
}

// renewed is the saved state with what makes it one to go on from.
func (s *cluster) renewed(saved *state.Store, actor string, now time.Time) (head state.SnapshotHead, data *bytes.Buffer, err error) {
	present, was := s.Store.View(), saved.View()
	txn, err := control.Restored(present, was, actor, now)
	if err != nil {
		return head, nil, err
	}
	b, err := state.EncodeTxn(txn)
	if err != nil {
		return head, nil, err
	}
	entry := state.EncodeEntry(now, b)
	results, err := saved.Apply(max(present.Index(), was.Index())+1, entry)
	if err == nil {
		err = results[0].Err()
	}
	if err != nil {
		return head, nil, fmt.Errorf("make the snapshot a state to go on from: %w", err)
	}
	data = &bytes.Buffer{}
	if _, err := saved.View().WriteTo(data); err != nil {
		return head, nil, err
	}
	return saved.View().SnapshotHead(), data, nil
}

// chunkReader reads what a client sends piece by piece.
type chunkReader struct {
	stream grpc.ClientStreamingServer[adminv1.RestoreSnapshotRequest, adminv1.Done]
	rest   []byte
	read   int64
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		m, err := c.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		c.rest = m.GetData()
	}
	n := copy(p, c.rest)
	c.rest, c.read = c.rest[n:], c.read+int64(n)
	if c.read > maxSnapshot {
		return n, fmt.Errorf("it has more than %d bytes", int64(maxSnapshot))
	}
	return n, nil
}
