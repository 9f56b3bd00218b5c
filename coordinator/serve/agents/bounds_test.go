package agents

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// contents are all objects of the state, as stored.
func (w *world) contents() map[string]string {
	all := map[string]string{}
	for o := range w.store.View().Objects() {
		all[o.Key().String()] = string(model.Raw(o))
	}
	return all
}

// outside is each message of a session, about what belongs to n2.
var outside = map[string][]*agentv1.FromAgent{
	"hello": {{Message: &agentv1.FromAgent_Hello{Hello: &agentv1.Hello{Node: "n2", HostName: "n2.example"}}}},
	"report": {{Message: &agentv1.FromAgent_Report{Report: &agentv1.Report{
		Full: true, Accepted: &agentv1.Order{Incarnation: 7, Index: 1 << 40},
		Replicas: &agentv1.Replicas{
			Replicas: []*agentv1.ReplicaState{{Volume: "db-1", ReplicaUid: "uid-n2", AppliedRevision: 99}}, Released: []string{"res-n2", "db-1/1"},
		},
	}}}},
	"result": {{Message: &agentv1.FromAgent_Result{Result: &agentv1.OperationResult{Id: "op-1.u1", Succeeded: true}}}},
	"heartbeat": {
		{Message: &agentv1.FromAgent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}},
	},
	"sole_request": {
		{Message: &agentv1.FromAgent_SoleRequest{SoleRequest: &agentv1.SoleRequest{Volume: "db-1", ReplicaUid: "uid-n2", Primary: true}}},
		{Message: &agentv1.FromAgent_SoleRequest{SoleRequest: &agentv1.SoleRequest{Volume: "db-9", ReplicaUid: "uid-n2"}}},
	},
	"collected": {{Message: &agentv1.FromAgent_Collected{Collected: &agentv1.CollectedPart{}}}},
}

// TestAnAgentReachesNothingOutsideItsNode sends each message of a session about another node's things: nothing in the
// state changes, and nothing of what is known of the other node.
func TestAnAgentReachesNothingOutsideItsNode(t *testing.T) {
	fields := (&agentv1.FromAgent{}).ProtoReflect().Descriptor().Oneofs().ByName("message").Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		messages, ok := outside[name]
		if !ok {
			t.Errorf("message %s has no row: what may an agent do with it?", name)
		}
		for j, m := range messages {
			t.Run(fmt.Sprint(name, " ", j), func(t *testing.T) {
				bubble(t, func(w *world) {
					w.pair()
					op := &model.Operation{Type: model.OperationCreateNewUUID, Node: "n2", Phase: model.OperationPending}
					op.Name, op.UID = "op-1", "u1"
					res := &model.Reservation{OwnerKind: model.OwnerReplica, Owner: "db-1/1", Pool: model.PoolID{Node: "n2", VG: "u"}, State: model.Releasing}
					res.Name = "res-n2"
					w.put(op, res)
					b := w.connect("n2")
					b.welcome()
					b.report(&agentv1.Report{Full: true, Replicas: &agentv1.Replicas{Replicas: []*agentv1.ReplicaState{{Volume: "db-1", ReplicaUid: "uid-n2"}}}})
					a := w.connect("n1")
					a.welcome()
					synctest.Wait()
					before, seen := w.contents(), *w.inv.View().Node("n2")
					a.send(m)
					synctest.Wait()
					if diff := cmp.Diff(before, w.contents()); diff != "" {
						t.Errorf("the state changed (-before +after):\n%s", diff)
					}
					if diff := cmp.Diff(seen, *w.inv.View().Node("n2"), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
						t.Errorf("what is known of n2 changed (-before +after):\n%s", diff)
					}
				})
			})
		}
	}
}

// deaf is a stream to nobody.
type deaf struct{ agentStream }

func (deaf) Send(*agentv1.ToAgent) error { return nil }

// FuzzSession lets an agent say anything: nothing panics, and nothing changes but what is of its node.
func FuzzSession(f *testing.F) {
	for _, messages := range outside {
		for _, m := range messages {
			b, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Add([]byte("\x12\x06\x08\x01\x1a\x02\x0a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &agentv1.FromAgent{}
		if proto.Unmarshal(b, m) != nil {
			return // gRPC refuses it before anybody hears of it
		}
		w := &world{t: t, store: state.NewStore(state.Options{}), inv: inventory.New(), changed: make(chan struct{})}
		w.node("n1")
		w.node("n2")
		w.pair()
		s := &service{Config: Config{
			Name: "c1", Store: w.store, Inventory: w.inv, Proposer: w, Collects: collect.NewBroker(), Office: enroll.Office{},
			Leadership: w.leadership, Heartbeat: time.Second, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		}}
		c := door.Caller{ID: identity.ID{Cluster: "test", Role: identity.Agent, Name: "n1"}, Key: keyOf("n1")}
		n := &session{service: s, stream: deaf{}, caller: c, node: "n1", number: w.inv.Open("n1", time.Now())}
		asked := s.Collects.Join("n1")
		defer asked.Close()
		n.collected = asked.Take
		before := w.contents()
		if h := m.GetHello(); h != nil {
			_, _ = s.register(t.Context(), c, h) // refused or not
		} else {
			_ = n.hear(t.Context(), said{message: m}) // it may end the session
		}
		after := w.contents()
		for key, is := range after {
			if own := key == "node.status/n1" || key == "volume.status/db-1" && m.GetSoleRequest() != nil; !own && before[key] != is {
				t.Errorf("%s changed from %s to %s", key, before[key], is)
			}
		}
		if len(after) != len(before) || w.inv.View().Node("n2") != nil {
			t.Errorf("%d objects of %d are left, of n2 is known %v", len(after), len(before), w.inv.View().Node("n2"))
		}
	})
}
