package session_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"rvol/agent/collect"
	"rvol/agent/decide"
	agentv1 "rvol/proto/agent/v1"
)

func TestTheLeaderIsFoundThroughWhoeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		follower, leader := newCoordinator("follower", "leader"), newCoordinator("leader", "leader")
		follower.others = []string{"follower", "leader"}
		start(t, []string{"dead", "follower"}, follower, leader)
		heard := leader.take()
		if len(heard) == 0 || heard[0].GetHello().GetNode() != "n1" {
			t.Fatalf("leader heard %v", heard)
		}
	})
}

func TestTheFirstReportIsFullAndLaterOnesHoldWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		a := start(t, []string{"a"}, c)
		time.Sleep(time.Second)
		first := c.reports()
		if len(first) != 1 || !first[0].Full || first[0].Storage == nil || first[0].Resources == nil || first[0].Replicas == nil ||
			first[0].Conditions == nil || first[0].Capabilities == nil || first[0].Addresses == nil {
			t.Fatalf("first: %v", first)
		}
		for range 15 { // many changes in a short time
			a.set(func(a *agent) { a.report.DRBDError += "x" })
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		later := c.reports()
		if len(later) != 1 || later[0].Full || later[0].Storage != nil || later[0].Resources == nil {
			t.Fatalf("later: %v", later)
		}
		a.session.Changed()
		time.Sleep(time.Second)
		if again := c.reports(); len(again) != 0 {
			t.Fatalf("without a change: %v", again)
		}
		c.send <- &agentv1.ToAgent{Message: &agentv1.ToAgent_ReportRequest{ReportRequest: &agentv1.ReportRequest{}}}
		time.Sleep(time.Second)
		if asked := c.reports(); len(asked) != 1 || !asked[0].Full || asked[0].Storage == nil {
			t.Fatalf("when asked: %v", asked)
		}
	})
}

func TestNothingIsReportedBeforeTheFirstObservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		startBlind(t, []string{"a"}, c)
		time.Sleep(time.Minute)
		beats := 0
		for _, m := range c.take() {
			if m.GetReport() != nil {
				t.Fatalf("reported: %v", m)
			}
			if m.GetHeartbeat() != nil {
				beats++
			}
		}
		if beats < 5 {
			t.Errorf("%d heartbeats in a minute", beats)
		}
	})
}

func TestAnOrderIsAcceptedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		a := start(t, []string{"a"}, c)
		time.Sleep(time.Second)
		c.take()
		c.order(1, 7)
		time.Sleep(time.Second)
		if got := a.orders(); len(got) != 1 || got[0].Order != (decide.Order{Incarnation: 1, Index: 7}) {
			t.Fatalf("accepted %v", got)
		}
		reports := c.reports()
		if len(reports) != 1 || !proto.Equal(reports[0].Accepted, &agentv1.Order{Incarnation: 1, Index: 7}) {
			t.Fatalf("reported %v", reports)
		}
	})
}

func TestARefusedOrderIsAnsweredWithTheOneInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		a := start(t, []string{"a"}, c)
		c.order(1, 7)
		time.Sleep(time.Second)
		a.set(func(a *agent) { a.refuse = errors.New("older than the newest accepted") })
		time.Sleep(time.Second)
		c.take()
		c.order(1, 6)
		time.Sleep(time.Second)
		reports := c.reports()
		if len(reports) != 1 || reports[0].Accepted.GetIndex() != 7 {
			t.Fatalf("reported %v", reports)
		}
		if got := a.orders(); len(got) != 1 {
			t.Fatalf("accepted %v", got)
		}
	})
}

func TestAResultIsSentUntilItIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		c.ackResult = false
		a := start(t, []string{"a"}, c)
		a.set(func(a *agent) { a.results = []decide.Result{{ID: "op-1", Succeeded: true}} })
		time.Sleep(time.Minute)
		count := func() int {
			n := 0
			for _, m := range c.take() {
				if m.GetResult().GetId() == "op-1" {
					n++
				}
			}
			return n
		}
		if n := count(); n < 3 || n > 6 {
			t.Errorf("sent %d times in a minute without an answer", n)
		}
		c.mu.Lock()
		c.ackResult = true
		c.mu.Unlock()
		time.Sleep(time.Minute)
		count()
		time.Sleep(time.Minute)
		if n := count(); n != 0 {
			t.Errorf("sent %d times after it was acknowledged", n)
		}
	})
}

func TestANewLeaderIsFollowedAndGetsAFullReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was, is := newCoordinator("was", "was"), newCoordinator("is", "is")
		start(t, []string{"was", "is"}, was, is)
		time.Sleep(time.Second)
		was.mu.Lock()
		was.leader = "is"
		was.mu.Unlock()
		was.send <- &agentv1.ToAgent{Message: &agentv1.ToAgent_NotLeader{NotLeader: &agentv1.NotLeader{Leader: "is"}}}
		time.Sleep(time.Second)
		if r := is.reports(); len(r) != 1 || !r[0].Full {
			t.Fatalf("the new leader was told %v", r)
		}
	})
}

func TestACoordinatorThatDoesNotAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf, leader := newCoordinator("deaf", "deaf"), newCoordinator("leader", "leader")
		deaf.silent = true
		start(t, []string{"deaf", "leader"}, deaf, leader)
		time.Sleep(15 * time.Second)
		if len(leader.take()) == 0 {
			t.Error("the leader heard nothing")
		}
	})
}

func TestWithoutALeaderTheCoordinatorsAreAskedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "")
		start(t, []string{"a"}, c)
		time.Sleep(10 * time.Minute)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sessions < 20 || c.sessions > 90 {
			t.Errorf("asked %d times in ten minutes", c.sessions)
		}
	})
}

func TestALeaderThatWentSilentIsTriedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was, is := newCoordinator("was", "was"), newCoordinator("is", "")
		start(t, []string{"was", "is"}, was, is)
		time.Sleep(time.Second)
		was.mu.Lock()
		was.silent = true
		was.mu.Unlock()
		was.send <- nil // its session breaks
		time.Sleep(50 * time.Millisecond)
		is.mu.Lock()
		is.leader = "is"
		is.mu.Unlock()
		time.Sleep(time.Second)
		if r := is.reports(); len(r) != 1 || !r[0].Full {
			t.Fatalf("the new leader was told %v", r)
		}
	})
}

func TestALeaderThatAnswersNoHeartbeatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was, is := newCoordinator("was", "was"), newCoordinator("is", "is")
		start(t, []string{"was", "is"}, was, is)
		time.Sleep(time.Minute)
		if r := is.reports(); len(r) != 0 {
			t.Fatalf("a leader that answers was left: the next was told %v", r)
		}
		was.mu.Lock()
		was.mute = true // its machine is gone: nobody closes the connection
		was.mu.Unlock()
		time.Sleep(11 * time.Second)
		if r := is.reports(); len(r) != 1 || !r[0].Full {
			t.Fatalf("the next leader was told %v", r)
		}
	})
}

func TestAfterASessionTheNextLeaderIsLookedForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		start(t, []string{"a"}, c)
		for range 10 { // leaders come and go
			time.Sleep(time.Second)
			c.send <- nil
		}
		time.Sleep(time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sessions != 11 {
			t.Errorf("%d sessions in 11 seconds, each lost after one", c.sessions)
		}
	})
}

func TestWhatIsCollectedComesInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoordinator("a", "a")
		a := start(t, []string{"a"}, c)
		request := func(number uint64) {
			c.send <- &agentv1.ToAgent{Message: &agentv1.ToAgent_CollectRequest{CollectRequest: &agentv1.CollectRequest{Number: number, Seconds: 60, MaxBytes: 1 << 20}}}
		}
		a.set(func(a *agent) {
			a.collected = []collect.File{{Name: "log", Data: make([]byte, 70<<10)}, {Name: "none", Missing: "why"}}
		})
		c.take()
		request(7)
		synctest.Wait()
		var got []string
		size := 0
		for _, m := range c.take() {
			if p := m.GetCollected(); p != nil {
				size += len(p.GetData())
				got = append(got, fmt.Sprintf("%d %s %v %s %v", p.GetNumber(), p.GetFile(), p.GetFileEnd(), p.GetMissing(), p.GetEnd()))
			}
		}
		want := []string{"7 log false  false", "7 log false  false", "7 log true  false", "7 none true why false", "7  false  true"}
		if diff := cmp.Diff(want, got); diff != "" || size != 70<<10 {
			t.Errorf("%d bytes (-want +got):\n%s", size, diff)
		}

		a.set(func(a *agent) { a.collected = nil }) // it hangs from here on
		request(8)
		synctest.Wait()
		a.set(func(a *agent) { a.collected = []collect.File{{Name: "x"}} })
		request(9) // ends the one before
		synctest.Wait()
		for _, m := range c.take() {
			if p := m.GetCollected(); p.GetNumber() == 8 {
				t.Errorf("the older request is still answered: %v", p)
			}
		}
	})
}
