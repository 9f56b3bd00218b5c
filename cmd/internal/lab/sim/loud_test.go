package sim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// TestAClientAtAHundredTimesDelaysNobody makes, uses and deletes volumes, first alone, then beside a client that changes
// things a hundred times as often: the slowest operations take less than twice as long, and the other is told to wait.
func TestAClientAtAHundredTimesDelaysNobody(t *testing.T) {
	t.Parallel()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "loud.log"))
	synctest.Test(t, func(t *testing.T) {
		cl, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cl.Close() }() // what failed before is what counts
		if err := cl.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := NewScripted(cl)
		must(t, s, "lvg create n1 vg0")
		must(t, s, "lvg create n2 vg0")
		must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
		must(t, s, "pool create loud --type LVM --vg vg9")
		const volumes, calls = 3, 3 * 4 * 3 // an operation is three calls: it is waited for by asking again
		began := time.Now()
		alone := slowest(t, s, "a", volumes)
		every := time.Since(began) / (100 * calls)

		told, stop := cl.loud(t, every)
		beside := slowest(t, s, "b", volumes)
		stop()
		t.Logf("p99 alone %s, beside a client that calls every %s %s; it was told to wait %d times", alone, every, beside, told.Load())
		if beside > 2*alone {
			t.Errorf("p99 of operations grew from %s to %s, want less than twice that", alone, beside)
		}
		if told.Load() == 0 {
			t.Error("the loud client was never told to come again: this test shows nothing")
		}
	})
}

// loud is a client of its own that changes a pool's labels again and again and waits for no answer. It counts how
// often it was told to come again later.
func (c *Cluster) loud(t *testing.T, every time.Duration) (told *atomic.Int64, stop func()) {
	t.Helper()
	conn, err := c.connect("", c.Endpoints()[0], identity.ClientTLS(identity.NewSource(c.operator(t, "loud")), identity.Peers{Allow: identity.AllowRoles(identity.Server)}))
	if err != nil {
		t.Fatal(err)
	}
	told = &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	pools := adminv1.NewPoolsClient(conn)
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			all.Go(func() {
				_, err := pools.Set(ctx, &adminv1.SetPoolRequest{
					Name: "loud", Labels: &adminv1.LabelChange{Set: map[string]string{"turn": strconv.Itoa(n)}},
				})
				for _, d := range status.Convert(err).Details() {
					if r, ok := d.(*adminv1.Refusal); ok && status.Code(err) == codes.ResourceExhausted && r.GetRetryAfter() != nil {
						told.Add(1)
					}
				}
			})
			time.Sleep(every)
		}
	})
	return told, func() { cancel(); all.Wait(); _ = conn.Close() } // it has done its work
}

// operator is somebody besides the first admin.
func (c *Cluster) operator(t *testing.T, name string) *identity.Credentials {
	t.Helper()
	sealing, err := identity.LoadSealingKey(filepath.Join(c.nodes[0].coordinatorDir(), "sealing.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := enroll.Office{Sealing: sealing}.CA(c.saved(t).View())
	if err != nil {
		t.Fatal(err)
	}
	key, err := identity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.SignPerson(&key.PublicKey, identity.ID{Cluster: ca.Cluster(), Role: identity.Operator, Name: name}, time.Now(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := identity.NewCredentials(key, cert, identity.Roots{ca.Certificate()})
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

// saved is the state as a snapshot brings it.
func (c *Cluster) saved(t *testing.T) *state.Store {
	t.Helper()
	conn, err := c.Dial(t.Context(), c.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.(*grpc.ClientConn).Close() }() // asked once
	stream, err := adminv1.NewClusterClient(conn).SaveSnapshot(t.Context(), &adminv1.SaveSnapshotRequest{})
	var all bytes.Buffer
	for err == nil {
		var chunk *adminv1.SnapshotChunk
		chunk, err = stream.Recv()
		all.Write(chunk.GetData())
	}
	s := state.NewStore(state.Options{})
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := s.Restore(&all); err != nil {
		t.Fatal(err)
	}
	return s
}
