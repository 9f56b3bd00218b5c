package agents

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/status"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
)

// bubble runs a test on virtual time with nodes n1 and n2, which have joined.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("n1")
		w.node("n2")
		test(w)
	})
}

func TestASessionBeginsWithRegistrationAndAnOrder(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		a := w.connect("n1")
		hello, order := a.welcome()
		if hello.GetEpoch() != 1 || hello.GetLeader() != "c1" || hello.GetHeartbeatSeconds() != 5 {
			t.Errorf("welcome %v", hello)
		}
		st, _ := get[*model.NodeStatus](w, "n1")
		if !st.Ready || st.UpdatedBy != "register" || st.HostName != "n1.example" || st.Capabilities.DRBDFull != "8.4.11" || st.Addresses["default"].String() != "10.0.0.1" {
			t.Errorf("status %+v", st)
		}
		if o := order.GetOrder(); o.GetIncarnation() != 7 || o.GetIndex() != w.store.View().NodeRevision("n1") || order.GetCluster() != "test" {
			t.Errorf("order %v", order)
		}
		again, _ := w.connect("n1").welcome()
		if again.GetEpoch() != 2 {
			t.Errorf("epoch %d after a second registration, want 2", again.GetEpoch())
		}
	})
}

func TestReportsFillTheInventory(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		a := w.connect("n1")
		a.welcome()
		if w.inv.View().Node("n1").Known() {
			t.Error("the node is known before its first full report")
		}
		a.report(&agentv1.Report{
			Full: true, Storage: &agentv1.Storage{Vgs: []*agentv1.VG{{Name: "vg1"}, {Name: "vg0"}}},
			Replicas: &agentv1.Replicas{Released: []string{"r1"}}, Accepted: &agentv1.Order{Incarnation: 7, Index: 3},
		})
		a.report(&agentv1.Report{Resources: &agentv1.Resources{Error: "drbdsetup hangs"}})
		synctest.Wait()
		n := w.inv.View().Node("n1")
		if !n.Known() || len(n.VGs) != 2 || n.VGs[0].Name != "vg0" || !n.Released["r1"] || n.DRBDError != "drbdsetup hangs" || n.Accepted.Index != 3 {
			t.Errorf("known %+v", n)
		}
		before := n.Heard
		time.Sleep(5 * time.Second)
		a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}})
		synctest.Wait()
		if got := w.inv.View().Node("n1").Heard.Sub(before); got != 5*time.Second {
			t.Errorf("last heard %s later, want 5 s", got)
		}
		if m, err := a.stream.Recv(); err != nil || m.GetHeartbeat() == nil {
			t.Errorf("a heartbeat was answered with %v, %v", m, err)
		}
		if err := a.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the session ended with %v", err)
		}
		if n := w.inv.View().Node("n1"); n.Connected || len(n.VGs) != 2 {
			t.Errorf("after the session: %+v, want its facts, not relied on", n)
		}
	})
}

func TestOrdersFollowWhatTouchesTheNode(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		a, b := w.connect("n1"), w.connect("n2")
		a.welcome()
		b.welcome()
		l := &model.LVG{Node: "n1", VG: "vg0", UUID: "u0"}
		l.Name = "n1/vg0"
		w.put(l)
		p := &model.Pool{}
		p.Name = "touches-nobody"
		w.put(p)
		order := a.recv().GetDesired()
		if len(order.GetPools()) != 1 || order.GetOrder().GetIndex() != w.store.View().NodeRevision("n1") {
			t.Errorf("n1 was ordered %v", order)
		}
		n, _ := get[*model.Node](w, "n2")
		n = model.Clone(n)
		n.Fenced = &model.Fence{By: "test"}
		w.put(n)
		if order := b.recv().GetDesired(); !order.GetFenced() {
			t.Errorf("n2 was ordered %v, want to hear of its fence and of nothing before", order)
		}
	})
}

func TestAFollowerNamesTheLeader(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.lose()
		got := w.connect("n1").recv().GetNotLeader()
		if got.GetLeader() != "c2:7170" || strings.Join(got.GetCoordinators(), " ") != "c1:7170" {
			t.Errorf("got %v", got)
		}
	})
}

func TestLeadershipLossEndsSessions(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		a := w.connect("n1")
		a.welcome()
		w.lose()
		if got := a.recv().GetNotLeader(); got.GetLeader() != "c2:7170" {
			t.Errorf("got %v", got)
		}
		if _, err := a.stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the session ended with %v", err)
		}
		if w.inv.View().Node("n1").Connected {
			t.Error("the session is still open")
		}
	})
}

func TestWhoMayNotRegister(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*agentv1.Hello)
		says   string
	}{
		{"another node's agent", func(h *agentv1.Hello) { h.Node = "n2" }, "agent/n1 may not speak for it"},
		{"no host name", func(h *agentv1.Hello) { h.HostName = "" }, "host name"},
		{"another node's host name", func(h *agentv1.Hello) { h.HostName = "n2.example" }, "that of node n2"},
		{"another node's address", func(h *agentv1.Hello) { h.Addresses["default"] = "10.0.0.2" }, "that of node n2"},
		{"no address at all", func(h *agentv1.Hello) { h.Addresses = nil }, "names no replication address"},
		{"a loopback address", func(h *agentv1.Hello) { h.Addresses["default"] = "127.0.0.1" }, "peers cannot reach it"},
		{"any address", func(h *agentv1.Hello) { h.Addresses["default"] = "0.0.0.0" }, "peers cannot reach it"},
		{"no address", func(h *agentv1.Hello) { h.Addresses["default"] = "here" }, "want an IP address"},
		{"a link-local address", func(h *agentv1.Hello) { h.Addresses["default"] = "169.254.1.1" }, "link-local"},
		{"a second network's loopback address", func(h *agentv1.Hello) { h.Addresses["fast"] = "127.0.0.1" }, "address 127.0.0.1 of network fast is a loopback address"},
		{"an address that is not there", func(h *agentv1.Hello) { h.Missing = map[string]string{"fast": "no interface has it"} }, "network fast is not there: no interface has it"},
		{"no health door", func(h *agentv1.Hello) { h.Health = "" }, "node n1: its agent has no health door"},
		{"no address of a health door", func(h *agentv1.Hello) { h.Health = "n1:7175" }, `node n1: invalid: health door "n1:7175": want IP:PORT: set RVOL_AGENT_HEALTH`},
		{"a health door without a port", func(h *agentv1.Hello) { h.Health = "10.0.0.1" }, "want IP:PORT"},
		{"a health door anywhere", func(h *agentv1.Hello) { h.Health = "0.0.0.0:7175" }, "health door 0.0.0.0:7175 is no particular address"},
		{"a health door on loopback", func(h *agentv1.Hello) { h.Health = "[::ffff:127.0.0.1]:7175" }, "is a loopback address: coordinators cannot reach it"},
		{"a link-local health door", func(h *agentv1.Hello) { h.Health = "[fe80::1%eth0]:7175" }, "is link-local"},
		{"a health door of another machine", func(h *agentv1.Hello) { h.HealthError = "no interface of this machine has 10.0.0.1" }, "health door 10.0.0.1:7175 is not open: no interface of this machine has 10.0.0.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				t := w.t
				w.connect("n2").welcome()
				_, err := w.connect("n1", tc.change).stream.Recv()
				if s := status.Convert(err); !strings.Contains(s.Message(), tc.says) {
					t.Errorf("got %v, want it to say %q", err, tc.says)
				}
				if st, _ := get[*model.NodeStatus](w, "n1"); st.Epoch != 0 {
					t.Error("it was registered all the same")
				}
			})
		})
	}
}

func TestANodeThatIsDeletedIsShownOut(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		a := w.connect("n1")
		a.welcome()
		n, _ := get[*model.Node](w, "n1")
		st, _ := get[*model.NodeStatus](w, "n1")
		i, _ := get[*model.Identity](w, keyOf("n1").String())
		w.propose(state.NewTxn("test", "delete n1").Delete(n).Delete(st).Delete(i))
		if _, err := a.stream.Recv(); !strings.Contains(fmt.Sprint(err), "revoked") {
			t.Errorf("the session ended with %v", err)
		}
		if _, err := w.connect("n1").stream.Recv(); !strings.Contains(fmt.Sprint(err), "node n1: not found") {
			t.Errorf("a new session ended with %v", err)
		}
	})
}

func TestAnOlderSessionEndsWhenItSpeaks(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		old := w.connect("n1")
		old.welcome()
		w.connect("n1").welcome()
		old.recv() // the order that the second registration touched
		old.report(&agentv1.Report{Full: true})
		if _, err := old.stream.Recv(); !strings.Contains(fmt.Sprint(err), "another session of it has begun") {
			t.Errorf("the older session ended with %v", err)
		}
		if w.inv.View().Node("n1").Known() {
			t.Error("the older session's report was taken")
		}
	})
}

func TestASilentClientIsNotWaitedForLong(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		stream, err := w.client.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := stream.Recv(); !strings.Contains(fmt.Sprint(err), "no Hello") || time.Since(begin) != helloTimeout {
			t.Errorf("ended after %s with %v", time.Since(begin), err)
		}
	})
}

func TestResultsOfOperationsAreCommittedBeforeTheyAreAcknowledged(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		op := &model.Operation{Type: model.OperationCreateVG, Node: "n1", Phase: model.OperationPending, VG: &model.CreateVGParams{VG: "vg1", Device: "/dev/sdb"}}
		op.Name, op.UID = "op-1", "u1"
		w.put(op)
		a := w.connect("n1")
		_, order := a.welcome()
		if len(order.GetOperations()) != 1 || order.GetOperations()[0].GetCreateVg().GetDevice() != "/dev/sdb" {
			t.Fatalf("order %v", order)
		}
		done := &agentv1.FromAgent{Message: &agentv1.FromAgent_Result{Result: &agentv1.OperationResult{Id: "op-1.u1", Text: "it has a signature"}}}
		w.mu.Lock()
		w.refuses = model.ErrUnknown
		w.mu.Unlock()
		a.send(done)
		synctest.Wait()
		w.mu.Lock()
		w.refuses = nil
		w.mu.Unlock()
		a.send(done) // it was not acknowledged
		if ack := a.recv().GetResultAck(); ack.GetId() != "op-1.u1" {
			t.Errorf("got %v, want the acknowledgement", ack)
		}
		op, _ = get[*model.Operation](w, "op-1")
		if op.Phase != model.OperationFailed || op.Result != "it has a signature" || op.DoneAt.IsZero() {
			t.Errorf("operation %+v", op)
		}
		if order := a.recv().GetDesired(); len(order.GetOperations()) != 0 {
			t.Errorf("order %v, want it without the operation", order)
		}
		a.send(done) // the acknowledgement was lost
		if ack := a.recv().GetResultAck(); ack.GetId() != "op-1.u1" {
			t.Errorf("got %v, want it acknowledged again", ack)
		}
	})
}

func TestTheResultOfAnEarlierOperationOfThatNameIsNotTakenForTheNewOnes(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		op := &model.Operation{Type: model.OperationCreateVG, Node: "n1", Phase: model.OperationPending, VG: &model.CreateVGParams{VG: "vg1", Device: "/dev/sdb"}}
		op.Name, op.UID = "op-1", "u2"
		w.put(op)
		a := w.connect("n1")
		if _, order := a.welcome(); order.GetOperations()[0].GetId() != "op-1.u2" {
			t.Fatalf("order %v", order)
		}
		a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_Result{Result: &agentv1.OperationResult{Id: "op-1.u1", Succeeded: true}}})
		if ack := a.recv().GetResultAck(); ack.GetId() != "op-1.u1" {
			t.Errorf("got %v, want the agent to forget the earlier one", ack)
		}
		if op, _ := get[*model.Operation](w, "op-1"); op.Phase != model.OperationPending {
			t.Errorf("the new operation is %s", op.Phase)
		}
	})
}

func TestAnAgentMayNotEndAnothersOperation(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		op := &model.Operation{Type: model.OperationCreateNewUUID, Node: "n2", Phase: model.OperationPending}
		op.Name, op.UID = "op-1", "u1"
		w.put(op)
		a := w.connect("n1")
		a.welcome()
		a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_Result{Result: &agentv1.OperationResult{Id: "op-1.u1", Succeeded: true}}})
		a.recv()
		if op, _ := get[*model.Operation](w, "op-1"); op.Phase != model.OperationPending {
			t.Errorf("n1 ended an operation of n2: %s", op.Phase)
		}
	})
}

// TestASlowAgentHoldsUpNobody sends more orders to an agent that reads none than fit in
// the window of its stream.
func TestASlowAgentHoldsUpNobody(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.connect("n1")
		b := w.connect("n2")
		b.welcome()
		for i := range 300 {
			l := &model.LVG{Node: "n1", VG: fmt.Sprintf("vg%d", i), UUID: strings.Repeat("x", 200)}
			l.Name = model.LVGName(l.Node, l.VG)
			w.put(l)
			synctest.Wait()
		}
		n, _ := get[*model.Node](w, "n2")
		n = model.Clone(n)
		n.Zone = "z"
		w.put(n)
		if order := b.recv().GetDesired(); order == nil {
			t.Error("n2 heard nothing")
		}
	})
}
