package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// fakeRaft remembers what was asked of it.
type fakeRaft struct {
	members []RaftMember
	refuses error
	asked   []string
}

func (f *fakeRaft) Status() (RaftStatus, error) {
	return RaftStatus{Term: 3, Commit: 9, Leader: "c1", Members: f.members}, nil
}

func (f *fakeRaft) AddNonvoter(_ context.Context, name, addr string) error {
	f.asked = append(f.asked, "add "+name+" "+addr)
	return f.refuses
}

func (f *fakeRaft) Remove(_ context.Context, name string) error {
	f.asked = append(f.asked, "remove "+name)
	return f.refuses
}

func (f *fakeRaft) TransferLeadership(_ context.Context, to string) error {
	f.asked = append(f.asked, "transfer "+to)
	return f.refuses
}

func (f *fakeRaft) Restore(context.Context, state.SnapshotHead, int64, io.Reader) error {
	f.asked = append(f.asked, "restore")
	return f.refuses
}

// clustered is a world with two members.
func clustered(t *testing.T) (*world, *fakeRaft) {
	t.Helper()
	w, f := newWorld(t), &fakeRaft{}
	w.Raft = f
	for _, name := range []string{"c1", "c2"} {
		m := &model.Member{RaftAddr: name + ":7171", APIAddr: name + ":7170", Version: "1", Formats: [2]int{1, 1}}
		m.Name = name
		i := &model.Identity{Kind: "server", Subject: name}
		i.Name = "key-of-" + name
		w.put(m, i)
		f.members = append(f.members, RaftMember{Name: name, Addr: m.RaftAddr, Voter: true, LastContact: time.Now()})
	}
	f.members[1].LastContact = time.Now().Add(-time.Minute)
	return w, f
}

// joiner is a machine that asks to be a coordinator.
func (w *world) joiner(t *testing.T, name string, kind identity.TokenKind, subject string) *adminv1.JoinMemberRequest {
	t.Helper()
	made, err := (&tokens{api: w.api}).Create(w.ctx, &adminv1.CreateTokenRequest{Kind: string(kind), Subject: subject})
	if err != nil {
		t.Fatal(err)
	}
	return &adminv1.JoinMemberRequest{
		Token: made.GetText(), Csr: request(t), Name: name, RaftAddr: name + ":7171", ApiAddr: name + ":7170", LowestFormat: 1, HighestFormat: int32(state.MaxFormat),
	}
}

// request is a signing request of a new key.
func request(t *testing.T) []byte {
	t.Helper()
	key, err := identity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	return csr
}

func TestStatusTellsWhoIsSilent(t *testing.T) {
	w, _ := clustered(t)
	got, err := (&cluster{api: w.api}).Status(w.ctx, &adminv1.ClusterStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetId() != "test" || got.GetLeader() != "c1" || got.GetTerm() != 3 || got.GetAnsweredBy() != "c1" || got.GetStateHash() != w.Store.Hash().String() {
		t.Errorf("got %v", got)
	}
	c := got.GetMembers()[1].GetConditions()[0]
	if c.GetStatus() != "False" || c.GetMessage() != "nothing heard for 1m0s" {
		t.Errorf("c2 is %v, want it silent", c)
	}
}

func TestCertificatesOutOfTheirTimeAreShown(t *testing.T) {
	w, _ := clustered(t)
	w.node("n1")
	w.lapsed["c2"], w.lapsed["n1"] = identity.ErrLapsed, identity.ErrNotYetValid
	got, err := (&cluster{api: w.api}).Status(w.ctx, &adminv1.ClusterStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, m := range got.GetMembers() {
		for _, c := range m.GetConditions() {
			if c.GetType() == "CertificateValid" {
				seen = append(seen, m.GetName()+" "+c.GetMessage())
			}
		}
	}
	n, err := (&nodes{api: w.api}).one("n1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range n.GetConditions() {
		if c.GetType() == "CertificateValid" {
			seen = append(seen, "n1 "+c.GetMessage())
		}
	}
	const advice = "; it renews by itself: see its log and its clock"
	if diff := cmp.Diff([]string{"c2 certificate has lapsed" + advice, "n1 certificate is not valid yet" + advice}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestACoordinatorJoinsWithItsTokenOnce(t *testing.T) {
	w, raft := clustered(t)
	s, stranger := &cluster{api: w.api}, door.With(t.Context(), door.Caller{})
	r := w.joiner(t, "c3", identity.CoordinatorToken, "c3")
	got, err := s.JoinMember(stranger, r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"add c3 c3:7171"}, raft.asked); diff != "" {
		t.Error(diff)
	}
	if len(got.GetMemberKeys()) != 3 || !bytes.Equal(got.GetSealingKey(), w.sealed.Reveal()) {
		t.Errorf("keys %v", got.GetMemberKeys())
	}
	if _, err := s.JoinMember(stranger, r); err != nil {
		t.Errorf("the same key again, because the answer was lost: %v", err)
	}
	r.Csr = request(t)
	_, err = s.JoinMember(stranger, r)
	refused(t, err, identity.ErrTokenUsed)
}

func TestWhoMayNotBecomeACoordinator(t *testing.T) {
	for _, tc := range []struct {
		name    string
		kind    identity.TokenKind
		subject string
		change  func(*adminv1.JoinMemberRequest)
		is      error
		says    string
	}{
		{"with a node's token", identity.NodeToken, "", func(*adminv1.JoinMemberRequest) {}, identity.ErrWrongToken, "lets a node join"},
		{"with a token for another name", identity.CoordinatorToken, "c9", func(*adminv1.JoinMemberRequest) {}, identity.ErrTokenName, "c9"},
		{"under the name of a member", identity.CoordinatorToken, "", func(r *adminv1.JoinMemberRequest) { r.Name = "c2" }, model.ErrExists, "joined with another key"},
		{"at the address of a member", identity.CoordinatorToken, "", func(r *adminv1.JoinMemberRequest) { r.ApiAddr = "c2:7170" }, model.ErrExists, "those of c2"},
		{"with half a token", identity.CoordinatorToken, "", func(r *adminv1.JoinMemberRequest) { r.Token = r.GetToken()[:40] }, identity.ErrInvalidToken, ""},
		{"with no proof of a key", identity.CoordinatorToken, "", func(r *adminv1.JoinMemberRequest) { r.Csr = []byte("x") }, model.ErrInvalid, "signing request"},
		{"with a binary that is too old", identity.CoordinatorToken, "", func(r *adminv1.JoinMemberRequest) { r.LowestFormat, r.HighestFormat = 0, 0 }, model.ErrInvalid, "formats 0 to 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, raft := clustered(t)
			r := w.joiner(t, "c3", tc.kind, tc.subject)
			tc.change(r)
			_, err := (&cluster{api: w.api}).JoinMember(w.ctx, r)
			refused(t, err, tc.is, tc.says)
			if len(raft.asked) > 0 {
				t.Errorf("Raft was asked to %v", raft.asked)
			}
		})
	}
}

func TestRemoveAMember(t *testing.T) {
	w, raft := clustered(t)
	s := &cluster{api: w.api}
	_, err := s.RemoveMember(w.ctx, &adminv1.DeleteRequest{Name: "c1", Confirm: "c1"})
	refused(t, err, model.ErrBusy, "it leads")
	_, err = s.RemoveMember(w.ctx, &adminv1.DeleteRequest{Name: "c9", Confirm: "c9"})
	refused(t, err, model.ErrNotFound, "member c9")
	if _, err := s.RemoveMember(w.ctx, &adminv1.DeleteRequest{Name: "c2", Confirm: "c2"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"remove c2"}, raft.asked); diff != "" {
		t.Error(diff)
	}
	if _, there := get[*model.Identity](w, "key-of-c2"); there {
		t.Error("its key is still known")
	}
}

func TestAMemberRenewsItsOwnKeyOnly(t *testing.T) {
	w, _ := clustered(t)
	s, r := &cluster{api: w.api}, w.joiner(t, "c3", identity.CoordinatorToken, "")
	if _, err := s.JoinMember(w.ctx, r); err != nil {
		t.Fatal(err)
	}
	key, err := identity.KeyOfRequest(r.GetCsr())
	if err != nil {
		t.Fatal(err)
	}
	print, err := identity.KeyFingerprint(key)
	if err != nil {
		t.Fatal(err)
	}
	c3 := door.With(t.Context(), door.Caller{ID: identity.ID{Cluster: "test", Role: identity.Server, Name: "c3"}, Key: print})
	if _, err := s.RenewMember(c3, &adminv1.RenewMemberRequest{Csr: r.GetCsr()}); err != nil {
		t.Error(err)
	}
	_, err = s.RenewMember(c3, &adminv1.RenewMemberRequest{Csr: request(t)})
	refused(t, err, model.ErrForbidden, "another key than its own")
}

func TestTokens(t *testing.T) {
	w := newWorld(t)
	s := &tokens{api: w.api}
	made, err := s.Create(w.ctx, &adminv1.CreateTokenRequest{Kind: "node", Subject: "n4"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := identity.ParseToken(made.GetText())
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := get[*model.Token](w, token.ID)
	if stored.Hash != token.Hash().String() || token.CA != w.ca.Hash() || time.Until(stored.ExpiresAt).Round(time.Minute) != 15*time.Minute {
		t.Errorf("stored %+v", stored)
	}
	if bytes.Contains(model.Raw(stored), []byte(made.GetText())) {
		t.Error("the state holds the secret")
	}
	_, err = s.Create(w.ctx, &adminv1.CreateTokenRequest{Kind: "admin"})
	refused(t, err, model.ErrInvalid, `"admin"`)
	if _, err := s.Delete(w.ctx, &adminv1.DeleteRequest{Name: token.ID}); err != nil {
		t.Error(err)
	}
	list, err := s.List(w.ctx, &adminv1.ListRequest{})
	if err != nil || len(list.GetTokens()) != 0 {
		t.Errorf("tokens %v, %v", list.GetTokens(), err)
	}
}

// collected is the server's end of a stream that a test reads.
type collected[T any] struct {
	grpc.ServerStream
	ctx  context.Context // a stream has one
	sent chan *T
}

func gathered[T any](ctx context.Context) *collected[T] {
	return &collected[T]{ctx: ctx, sent: make(chan *T, 100)}
}

func (c *collected[T]) Context() context.Context { return c.ctx }

// SendHeader has nobody to tell.
func (c *collected[T]) SendHeader(metadata.MD) error { return nil }

func (c *collected[T]) Send(m *T) error {
	c.sent <- m
	return nil
}

func TestASnapshotIsStreamedWhole(t *testing.T) {
	w := newWorld(t)
	w.class()
	stream := gathered[adminv1.SnapshotChunk](w.ctx)
	if err := (&cluster{api: w.api}).SaveSnapshot(&adminv1.SaveSnapshotRequest{}, stream); err != nil {
		t.Fatal(err)
	}
	close(stream.sent)
	var all bytes.Buffer
	for c := range stream.sent {
		all.Write(c.GetData())
	}
	head, err := state.InspectSnapshot(&all)
	if err != nil || head.Hash != w.Store.Hash() {
		t.Errorf("got %v, %v, want the state", head.Hash, err)
	}
}

func TestEventsTellWhatHappened(t *testing.T) {
	w := newWorld(t)
	w.class()
	w.formed("db-1")
	yes := true
	for _, name := range []string{"n1", "n2"} {
		w.node(name)
		if _, err := (&nodes{api: w.api}).Set(w.ctx, &adminv1.SetNodeRequest{Name: name, Unschedulable: &yes}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(r *adminv1.ListEventsRequest) []string {
		t.Helper()
		got, err := (&events{api: w.api}).List(w.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		var causes []string
		for _, e := range got.GetEvents() {
			causes = append(causes, e.GetActor()+": "+e.GetCause())
		}
		return causes
	}
	if diff := cmp.Diff([]string{"test: given", "admin/anna: change node n1"}, list(&adminv1.ListEventsRequest{Node: "n1"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"admin/anna: change node n2"}, list(&adminv1.ListEventsRequest{Limit: 1})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"test: given"}, list(&adminv1.ListEventsRequest{Volume: "db-1"})); diff != "" {
		t.Error(diff)
	}
	w.trail.first = 3
	if got := list(&adminv1.ListEventsRequest{}); len(got) == 0 {
		t.Error("a trail that was cut lists nothing")
	}
	_, err := (&events{api: w.api}).List(w.ctx, &adminv1.ListEventsRequest{Since: 1})
	refused(t, err, model.ErrCompacted)
}

func TestAWatchGoesOnWithoutGaps(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.ctx)
	stream, done := gathered[adminv1.Event](ctx), make(chan error, 1)
	go func() { done <- (&events{api: w.api}).Watch(&adminv1.ListEventsRequest{Since: 1}, stream) }()
	if e := <-stream.sent; e.GetIndex() != 1 {
		t.Errorf("first event %v, want index 1", e)
	}
	w.class()
	if e := <-stream.sent; e.GetIndex() != 2 || len(e.GetObjects()) != 4 {
		t.Errorf("next event %v, want the four objects of index 2", e)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestChangesTellOfHardAndSoftFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("n1")
		w.class()
		w.formed("db-1", "n1")
		ctx, cancel := context.WithCancel(w.ctx)
		stream, done := gathered[adminv1.Change](ctx), make(chan error, 1)
		go func() {
			done <- (&events{api: w.api}).Changes(&adminv1.ChangesRequest{Kinds: []string{"volume", "pool"}}, stream)
		}()
		synctest.Wait()
		w.report("n1", func(*inventory.Node) {})
		if c := <-stream.sent; c.GetKind() != "volume" || c.GetName() != "db-1" || c.GetIndex() != 0 {
			t.Errorf("got %v, want a soft change of the volume", c)
		}
		p := &model.Pool{}
		p.Name = "p2"
		w.put(p)
		if c := <-stream.sent; c.GetKind() != "pool" || c.GetName() != "p2" || c.GetIndex() != w.Store.Index() {
			t.Errorf("got %v, want pool p2 at %d", c, w.Store.Index())
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}
