package coordinator

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// snapshot saves the state by one coordinator.
func (c *cluster) snapshot(name string) []byte {
	c.t.Helper()
	stream, err := adminv1.NewClusterClient(c.api(name)).SaveSnapshot(c.t.Context(), &adminv1.SaveSnapshotRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	var b bytes.Buffer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return b.Bytes()
		}
		if err != nil {
			c.t.Fatal(err)
		}
		b.Write(m.GetData())
	}
}

// restore sends a saved state to one coordinator, in pieces.
func (c *cluster) restore(name, confirm string, saved []byte) error {
	c.t.Helper()
	stream, err := adminv1.NewClusterClient(c.api(name)).RestoreSnapshot(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for len(saved) > 0 {
		n := min(1000, len(saved))
		if stream.Send(&adminv1.RestoreSnapshotRequest{Confirm: confirm, Data: saved[:n]}) != nil {
			break // the answer says why
		}
		saved = saved[n:]
	}
	_, err = stream.CloseAndRecv()
	return err
}

// same waits until these coordinators remember the same.
func (c *cluster) same(names ...string) {
	c.t.Helper()
	c.until("the same state everywhere", func() bool {
		hashes := map[string]bool{}
		for _, name := range names {
			s, err := c.status(name, true)
			hashes[s.GetStateHash()] = true
			if err != nil {
				return false
			}
		}
		return len(hashes) == 1
	})
}

func (c *cluster) makePool(by, name string) {
	c.t.Helper()
	if _, err := adminv1.NewPoolsClient(c.api(by)).Create(c.t.Context(), pool(name)); err != nil {
		c.t.Fatal(err)
	}
}

// accept looks at the differences and accepts them.
func (c *cluster) accept(by string) (*adminv1.Reconciliation, error) {
	c.t.Helper()
	client := adminv1.NewClusterClient(c.api(by))
	is, err := client.Reconcile(c.t.Context(), &adminv1.ReconcileRequest{})
	if err != nil {
		return nil, err
	}
	return client.Reconcile(c.t.Context(), &adminv1.ReconcileRequest{Accept: true, Digest: is.GetDigest()})
}

func TestARestoredStateReplacesAllAndBeginsToReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		c.makePool("c1", "before")
		saved := c.snapshot("c1")
		c.makePool("c1", "after")
		before, err := c.status("c1", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.restore("c2", "someone", saved); status.Code(err) != codes.InvalidArgument {
			t.Errorf("restore of another cluster's name: %v, want InvalidArgument", err)
		}
		if err := c.restore("c2", "test", saved[:len(saved)-1]); status.Code(err) != codes.InvalidArgument {
			t.Errorf("restore of half a snapshot: %v, want InvalidArgument", err)
		}
		tampered := bytes.Clone(saved)
		tampered[len(tampered)/2] ^= 1
		if err := c.restore("c2", "test", tampered); status.Code(err) != codes.InvalidArgument {
			t.Errorf("restore of a snapshot with another bit: %v, want InvalidArgument", err)
		}
		if err := c.restore("c2", "test", snapshotOf(t, "other")); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "the snapshot is of another cluster, other") {
			t.Errorf("restore of another cluster's snapshot: %v, want InvalidArgument", err)
		}
		if now, err := c.status("c1", false); err != nil || now.GetIncarnation() != 1 || now.GetReconciling() {
			t.Errorf("after what was refused: %v, %v, want nothing changed", now, err)
		}
		if list, _, err := c.poolsVia("c3"); err != nil || len(list) != 2 {
			t.Errorf("after what was refused: pools %v, %v, want both", list, err)
		}
		if err := c.restore("c2", "test", saved); err != nil {
			t.Fatal(err)
		}
		is, err := c.status("c1", false)
		if err != nil || is.GetIncarnation() != 2 || !is.GetReconciling() || is.GetAppliedIndex() <= before.GetAppliedIndex() || len(is.GetMembers()) != 3 {
			t.Fatalf("status %v, %v: want incarnation 2, reconciling, an index above %d", is, err, before.GetAppliedIndex())
		}
		c.same("c1", "c2", "c3")
		if list, _, err := c.poolsVia("c3"); err != nil || len(list) != 1 || list[0].GetMeta().GetName() != "before" {
			t.Errorf("pools %v, %v: want the one of the snapshot", list, err)
		}
		if _, err := c.accept("c3"); err != nil {
			t.Fatal(err)
		}
		c.makePool("c3", "later")
		for _, name := range []string{"c1", "c2", "c3"} {
			c.stop(name)
		}
		for _, name := range []string{"c1", "c2", "c3"} {
			c.start(name)
		}
		c.until("two pools after all were stopped", func() bool {
			list, head, err := c.poolsVia("c1")
			return err == nil && len(list) == 2 && head.Get("rvol-stale") == nil
		})
		c.same("c1", "c2", "c3")
	})
}

// snapshotOf is of a cluster that has nothing but a name.
func snapshotOf(t *testing.T, cluster string) []byte {
	t.Helper()
	txn, err := state.NewTxn("test", "begin").Put(&model.Cluster{Meta: model.Meta{Name: model.ClusterName}, ID: cluster, Format: 1, Incarnation: 1}).Txn()
	if err != nil {
		t.Fatal(err)
	}
	b, err := state.EncodeTxn(txn)
	if err != nil {
		t.Fatal(err)
	}
	s := state.NewStore(state.Options{})
	if _, err := s.Apply(1, state.EncodeEntry(time.Now(), b)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := s.View().WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestALoneSurvivorGoesOnAndTheOthersJoinAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		c.makePool("c1", "before")
		c.same("c1", "c2", "c3")
		for _, name := range []string{"c1", "c2", "c3"} {
			c.stop(name)
		}
		asked := ""
		config := RecoverConfig{Dir: c.at("c2"), Log: slog.New(slog.DiscardHandler), Ask: func(text string) (string, error) {
			asked = text
			return "c1", nil
		}}
		if err := Recover(config); !errors.Is(err, model.ErrInvalid) {
			t.Fatalf("with another name typed: %v, want a refusal", err)
		}
		for _, want := range []string{"may be lost", "Stop these for ever", "c1, c3", "highest index"} {
			if !strings.Contains(asked, want) {
				t.Errorf("it does not say %q:\n%s", want, asked)
			}
		}
		config.Confirm = "c2"
		c.start("c2")
		c.until("c2 runs", func() bool { _, err := c.status("c2", true); return err == nil })
		if err := Recover(config); err == nil || !strings.Contains(err.Error(), "is a coordinator running already?") {
			t.Errorf("recover one that runs: %v, want a refusal", err)
		}
		c.stop("c2")
		if err := Recover(config); err != nil {
			t.Fatal(err)
		}
		c.start("c2")
		c.until("c2 leads alone", func() bool {
			s, err := c.status("c2", false)
			return err == nil && s.GetLeader() == "c2" && len(s.GetMembers()) == 1 && s.GetIncarnation() == 2 && s.GetReconciling()
		})
		if list, _, err := c.poolsVia("c2"); err != nil || len(list) != 1 {
			t.Fatalf("pools %v, %v: want the one there was", list, err)
		}
		if _, err := c.accept("c2"); err != nil {
			t.Fatal(err)
		}
		c.start("c1") // as nobody should: its key counts no more
		c.makePool("c2", "after")
		if s, err := c.status("c2", false); err != nil || len(s.GetMembers()) != 1 {
			t.Errorf("status %v, %v: want c2 alone", s, err)
		}
		c.stop("c1")
		if err := os.RemoveAll(c.at("c1")); err != nil {
			t.Fatal(err)
		}
		c.joinBy("c2", "c1")
		c.until("c1 votes again", func() bool {
			s, err := c.status("c2", false)
			return err == nil && len(s.GetMembers()) == 2 && s.GetMembers()[1].GetVoter()
		})
		c.same("c1", "c2")
	})
}

// All disks of all coordinators are lost, and a snapshot was saved elsewhere: a new cluster of the
// same name takes it, its own members and keys stay in force.
func TestASavedStateOutlivesAllCoordinators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		c.makePool("c1", "before")
		if err := c.restore("c1", "test", c.snapshot("c1")); err != nil { // so that its incarnation is above that of a new cluster
			t.Fatal(err)
		}
		saved := c.snapshot("c1")
		for _, name := range []string{"c1", "c2", "c3"} {
			c.stop(name)
			if err := os.RemoveAll(c.at(name)); err != nil {
				t.Fatal(err)
			}
		}
		anew := InitConfig{Dir: c.at("c1"), Cluster: "test", Name: "c1", API: "c1:7170", Raft: "c1:7171", AdminConfig: c.adminConfig(), Version: "test"}
		if err := os.Remove(c.adminConfig()); err != nil {
			t.Fatal(err)
		}
		if err := Init(anew); err != nil {
			t.Fatal(err)
		}
		c.start("c1")
		c.until("the new c1 leads", func() bool { s, err := c.status("c1", false); return err == nil && s.GetIncarnation() == 1 })
		c.join("c2")
		if err := c.restore("c1", "test", saved); err != nil {
			t.Fatal(err)
		}
		s, err := c.status("c2", false)
		if err != nil || s.GetIncarnation() != 3 || !s.GetReconciling() || len(s.GetMembers()) != 2 {
			t.Fatalf("status %v, %v: want two members, reconciling, an incarnation above that of the snapshot", s, err)
		}
		if _, err := c.accept("c1"); err != nil {
			t.Fatal(err)
		}
		if list, _, err := c.poolsVia("c2"); err != nil || len(list) != 1 || list[0].GetMeta().GetName() != "before" {
			t.Errorf("pools %v, %v: want the one of the snapshot", list, err)
		}
		c.join("c3") // with a token of the new cluster, whose CA signs its key
		c.same("c1", "c2", "c3")
	})
}

func TestADeadMemberIsRemovedOnlyWhileThreeOthersVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.stop("c1")
		c.removeDead = 10 * time.Minute
		c.start("c1")
		c.until("c1 leads", func() bool { s, err := c.status("c1", false); return err == nil && s.GetId() == "test" })
		for _, name := range []string{"c2", "c3", "c4"} {
			c.join(name)
		}
		c.until("four voters", func() bool { return c.voters() == 4 })
		members := func() int { s, _ := c.status("c1", false); return len(s.GetMembers()) }
		c.stop("c4")
		time.Sleep(9 * time.Minute)
		if n := members(); n != 4 {
			t.Fatalf("%d members before its time, want 4", n)
		}
		time.Sleep(5 * time.Minute)
		if n := members(); n != 3 {
			t.Fatalf("%d members after it was silent for 14 min, want 3", n)
		}
		c.stop("c3")
		time.Sleep(time.Hour)
		if n := members(); n != 3 {
			t.Errorf("%d members, want the dead one of three to stay", n)
		}
		_, err := adminv1.NewClusterClient(c.api("c1")).RemoveMember(t.Context(), &adminv1.DeleteRequest{Name: "c2", Confirm: "c2"})
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the living one of two others removed: %v, want a refusal", err)
		}
	})
}
