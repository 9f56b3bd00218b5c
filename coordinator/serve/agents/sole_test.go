package agents

import (
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/model"
	agentv1 "rvol/proto/agent/v1"
)

// pair is db-1 with a copy on n1, which uses it, and one on n2.
func (w *world) pair() {
	w.t.Helper()
	vol, vs := &model.Volume{}, &model.VolumeStatus{Formed: true, DRBD: "8.4", Configuration: &model.Configuration{FTT: 1}}
	vol.Name, vs.Name = "db-1", "db-1"
	at := &model.Attachment{Volume: "db-1", Node: "n1", Granted: true}
	at.Name = model.AttachmentName("db-1", "n1")
	objects := []model.Object{vol, vs, at}
	for id, node := range []string{"n1", "n2"} {
		r := &model.Replica{Volume: "db-1", ID: id, Type: model.Diskful, Node: node}
		r.Name, r.UID = model.ReplicaName("db-1", id), "uid-"+node
		objects = append(objects, r)
		vs.Datamesh.Members = append(vs.Datamesh.Members, model.DatameshMember{ID: id, Type: model.Diskful, Node: node})
	}
	w.put(objects...)
}

// ask asks for a node's copy, and returns the answer; nil: there was none.
func (a *agent) ask(uid string, primary bool, number uint64) *agentv1.SoleAnswer {
	a.t.Helper()
	a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_SoleRequest{SoleRequest: &agentv1.SoleRequest{
		Volume: "db-1", ReplicaUid: uid, Resource: "rvol-db-1", Primary: primary, Number: number,
	}}})
	for {
		if n := a.recv().GetSoleAnswer(); n != nil {
			return n
		}
	}
}

func TestOneCopyAtMostIsLetGoOnAlone(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.pair()
		a, b := w.connect("n1"), w.connect("n2")
		a.welcome()
		b.welcome()
		if n := b.ask("uid-n2", false, 1); n.GetGranted() || n.GetHolder() != "" {
			t.Errorf("n2, which nobody uses, was answered %v", n)
		}
		if n := a.ask("uid-of-before", true, 1); n.GetGranted() {
			t.Errorf("a replica that is gone was answered %v", n)
		}
		for round := int64(1); round <= 2; round++ {
			n := a.ask("uid-n1", true, uint64(10+round))
			if !n.GetGranted() || n.GetRound() != round || n.GetNumber() != uint64(10+round) {
				t.Errorf("n1 was answered %v, want a grant in round %d", n, round)
			}
			if vs, _ := get[*model.VolumeStatus](w, "db-1"); vs.Sole == nil || *vs.Sole != 0 || vs.SoleRound != round {
				t.Errorf("sole is %v in round %d: the grant was not committed", vs.Sole, vs.SoleRound)
			}
		}
		if n := b.ask("uid-n2", true, 2); n.GetGranted() || n.GetHolder() != "n1" || n.GetReason() == "" {
			t.Errorf("n2 was answered %v, want the holder", n)
		}
	})
}

func TestWithoutAMajorityNobodyIsAnswered(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.pair()
		a := w.connect("n1")
		a.welcome()
		synctest.Wait()
		w.mu.Lock()
		w.refuses = model.ErrUnavailable
		w.mu.Unlock()
		a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_SoleRequest{SoleRequest: &agentv1.SoleRequest{
			Volume: "db-1", ReplicaUid: "uid-n1", Primary: true, Number: 1,
		}}})
		time.Sleep(time.Minute)
		w.mu.Lock()
		w.refuses = nil
		w.mu.Unlock()
		// The first answer there is: that to the second question.
		if n := a.ask("uid-n1", true, 2); !n.GetGranted() || n.GetNumber() != 2 {
			t.Errorf("answered %v once there is a majority", n)
		}
	})
}
