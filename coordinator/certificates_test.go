package coordinator

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// with is a client of one coordinator with somebody's configuration.
func (c *cluster) with(config clientconfig.Config, name string) *grpc.ClientConn {
	c.t.Helper()
	creds, err := config.Credentials()
	if err != nil {
		c.t.Fatal(err)
	}
	conn, err := dialAPI(name+":7170", c.net.dial, identity.ClientTLS(identity.NewSource(creds), identity.Peers{Allow: identity.AllowRoles(identity.Server)}))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() }) // the test is over
	return conn
}

// made is what the machine's own socket of a follower would give somebody, put on record by it.
func (c *cluster) made(by string, a AdminCert) clientconfig.Config {
	c.t.Helper()
	sealing, err := identity.LoadSealingKey(sealingFile(c.at(by)))
	if err != nil {
		c.t.Fatal(err)
	}
	own, err := identityDir(c.at(by)).Load()
	if err != nil {
		c.t.Fatal(err)
	}
	m := &member{
		Config: Config{Dial: c.net.dial, Clock: time.Now}, store: c.remembered(), office: enroll.Office{Sealing: sealing},
	}
	m.known = &acquaintances{source: identity.NewSource(own), clock: time.Now, store: m.store, lapsed: map[identity.ID]error{}}
	m.leadership = newLeadership(nil, m.store)
	m.leadership.set(consensus.Leadership{Leader: "c1"})
	made, err := m.adminCert(a)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := m.record(c.t.Context(), made.Cert, a); err != nil {
		c.t.Fatal(err)
	}
	return clientconfig.Config{Cluster: made.Cluster, Endpoints: made.Endpoints, CA: made.CA, Cert: made.Cert, Key: made.Key}
}

// remembered is the state of the cluster, as a snapshot brings it.
func (c *cluster) remembered() *state.Store {
	c.t.Helper()
	stream, err := adminv1.NewClusterClient(c.api("c1")).SaveSnapshot(c.t.Context(), &adminv1.SaveSnapshotRequest{})
	var saved bytes.Buffer
	for err == nil {
		var chunk *adminv1.SnapshotChunk
		chunk, err = stream.Recv()
		saved.Write(chunk.GetData())
	}
	s := state.NewStore(state.Options{})
	if err := errors.Join(ignore(err, io.EOF), s.Restore(&saved)); err != nil {
		c.t.Fatal(err)
	}
	return s
}

func ignore(err, end error) error {
	if errors.Is(err, end) {
		return nil
	}
	return err
}

func TestARevokedCertificateIsRefusedAtEveryDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		ctx := t.Context()
		ben := c.made("c2", AdminCert{Name: "ben", Role: identity.Operator, Life: time.Hour})
		pools := func(at string) error {
			_, err := adminv1.NewPoolsClient(c.with(ben, at)).List(ctx, &adminv1.ListRequest{})
			return err
		}
		for _, at := range []string{"c1", "c2", "c3"} {
			if err := pools(at); err != nil {
				t.Fatalf("before: %s: %v", at, err)
			}
		}
		watch, err := adminv1.NewEventsClient(c.with(ben, "c3")).Watch(ctx, &adminv1.ListEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		admin := adminv1.NewCertificatesClient(c.api("c1"))
		list, err := admin.List(ctx, &adminv1.ListRequest{})
		if err != nil || len(list.GetCertificates()) != 2 { // of the first admin, made by init, and ben's
			t.Fatalf("on record: %v, %v", list, err)
		}
		if _, err := admin.Revoke(ctx, &adminv1.RevokeCertificateRequest{Subject: "ben", Confirm: "ben", Reason: "left"}); err != nil {
			t.Fatal(err)
		}
		c.until("all have heard of it", func() bool {
			a, errA := c.status("c2", true)
			b, errB := c.status("c3", true)
			d, errD := c.status("c1", true)
			return errA == nil && errB == nil && errD == nil && a.GetStateHash() == b.GetStateHash() && b.GetStateHash() == d.GetStateHash()
		})
		for _, at := range []string{"c1", "c2", "c3"} {
			err := pools(at)
			if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "revoked") {
				t.Errorf("%s: %v, want it refused as revoked", at, err)
			}
			_, err = adminv1.NewPoolsClient(c.with(ben, at)).List(ctx, &adminv1.ListRequest{Stale: true})
			if status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s, stale: %v, want it refused", at, err)
			}
		}
		for err == nil { // what is under way ends with the next word
			_, err = watch.Recv()
		}
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("a watch that was open: %v, want it ended", err)
		}
		_, err = admin.Revoke(ctx, &adminv1.RevokeCertificateRequest{Subject: "admin", Confirm: "admin"})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "you use") {
			t.Errorf("one's own: %v, want it refused", err)
		}
	})
}

func TestACertificateMadeWithoutALeaderSaysSo(t *testing.T) {
	made, err := MakeAdminCert(t.Context(), alone(t), AdminCert{Name: "ben", Role: identity.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Fingerprint) != 64 || !strings.Contains(made.Note, "not on record") || !strings.Contains(made.Note, (&model.NotLeaderError{}).Error()) {
		t.Errorf("fingerprint %q, note %q", made.Fingerprint, made.Note)
	}
}
