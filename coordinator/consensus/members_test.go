package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
)

func TestANonVoterBecomesAVoterOnceItHasCaughtUpAndStayedSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 1, 2)
		leader := c.leader()
		for i := range 600 {
			c.propose(leader, put(fmt.Sprint(i), ""))
		}
		c.isolate("n3") // it cannot catch up
		for _, id := range []string{"n2", "n3", "n2"} {
			if err := leader.AddNonvoter(t.Context(), consensus.Server{ID: id, Addr: id}); err != nil {
				t.Fatal(err)
			}
		}
		voters := func() string {
			var ids []string
			members, err := leader.Members()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members {
				if m.Voter {
					ids = append(ids, m.ID)
				}
			}
			return strings.Join(ids, " ")
		}
		time.Sleep(9 * time.Second)
		soon := voters()
		time.Sleep(6 * time.Second)
		later := voters()
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"n1", "n1 n2", "n1 n2"}, []string{soon, later, voters()}); diff != "" {
			t.Errorf("voters (-want +got):\n%s", diff)
		}
		c.heal()
		time.Sleep(30 * time.Second)
		if got := voters(); got != "n1 n2 n3" {
			t.Errorf("voters after n3 came back: %s", got)
		}
		c.agree()
	})
}

func TestLeaderChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0)
		first := c.leader()
		var mu sync.Mutex
		var told []bool
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for l := range first.LeaderChanges(ctx) {
				mu.Lock()
				if len(told) == 0 || told[len(told)-1] != l.Leading {
					told = append(told, l.Leading)
				}
				mu.Unlock()
			}
		})
		if err := first.TransferLeadership(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		second := c.leader(first.id)
		time.Sleep(time.Second)
		if err := second.TransferLeadership(t.Context(), first.id); err != nil {
			t.Fatal(err)
		}
		c.leader(second.id)
		time.Sleep(time.Second)
		stop()
		wg.Wait()
		if diff := cmp.Diff([]bool{true, false, true}, told); diff != "" {
			t.Errorf("leading (-want +got):\n%s", diff)
		}
	})
}

func TestMembersCanBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0)
		leader := c.leader()
		if err := leader.Remove(t.Context(), "n9"); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("remove a member that is not there: %v", err)
		}
		if err := leader.TransferLeadership(t.Context(), "n9"); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("hand leadership to a member that is not there: %v", err)
		}
		var gone string
		for id := range c.members {
			if id != leader.id {
				gone = id
			}
		}
		if err := leader.Remove(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		c.stop(gone)
		c.propose(leader, put("a", ""))
		members, err := leader.Members()
		if err != nil || len(members) != 2 {
			t.Errorf("members %v, %v", members, err)
		}
		for _, m := range members {
			if !m.Voter || m.LastLog == 0 || m.Leader != (m.ID == leader.id) {
				t.Errorf("member %+v", m)
			}
		}
	})
}
