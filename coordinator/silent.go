package coordinator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
)

// Limits of asking nodes that have fallen silent.
const (
	doorPatience = 5 * time.Second
	doorsAtATime = 16
	maxAnswer    = 16 << 10 // bytes
)

// askSilent asks, while this member leads, each node that has fallen silent once at its health door, so that people
// know whether its machine is gone or only its session. What it answers stands in the node's status and decides nothing.
func (m *member) askSilent(ctx context.Context) {
	moved := make(chan struct{}, 1) // one is enough: it means "since you last looked"
	defer m.store.Watch(func(_ uint64, keys []model.Key) {
		if keys == nil || slices.ContainsFunc(keys, func(k model.Key) bool { return k.Kind == model.KindNodeStatus }) {
			select {
			case moved <- struct{}{}:
			default:
			}
		}
	})()
	under := errgroup.Group{}
	under.SetLimit(doorsAtATime)
	asked := map[string]time.Time{} // since when the node was silent that was asked
	for ctx.Err() == nil {
		for st := range state.All[*model.NodeStatus](m.store.View()) {
			if fellSilent(st) && !asked[st.Name].Equal(st.NotReadySince) {
				asked[st.Name] = st.NotReadySince
				under.Go(func() error {
					m.askDoor(ctx, st)
					return nil
				})
			}
		}
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
	_ = under.Wait() // none of them fails
}

// fellSilent says that a node is to be asked: it was heard of, is silent, and has a door.
func fellSilent(st *model.NodeStatus) bool {
	return !st.Ready && st.UpdatedBy == "monitor" && st.Health.IsValid()
}

// askDoor asks one node, and writes down what it answered unless it has been heard of meanwhile.
func (m *member) askDoor(ctx context.Context, silent *model.NodeStatus) {
	says := fmt.Sprintf("its health door %s %s", silent.Health, answerOf(ctx, m.Dial, silent.Health))
	err := enroll.Again(ctx, m.store, m.proposer, func(v state.View) (*state.Build, error) {
		st, ok := state.Get[*model.NodeStatus](v, silent.Name)
		if !ok || st.Ready || !st.NotReadySince.Equal(silent.NotReadySince) || st.Door == says {
			return nil, nil
		}
		st = model.Clone(st)
		st.Door = says
		return state.NewTxn("coordinator/"+m.place.Name, fmt.Sprintf("node %s is silent: %s", st.Name, says)).Put(st), nil
	})
	if err != nil && ctx.Err() == nil {
		m.Log.WarnContext(ctx, "what a silent node's door answered was not written down", "node", silent.Name, "reason", says, "err", err)
	}
}

// answerOf says in words what a health door answers. Nothing of the answer's text is passed on: who answers may be anybody.
func answerOf(ctx context.Context, dial func(context.Context, string) (net.Conn, error), door netip.AddrPort) string {
	ctx, cancel := context.WithTimeout(ctx, doorPatience)
	defer cancel()
	code, err := livez(ctx, dial, door.String())
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refuses: the machine is up, its agent does not run"
	case err != nil:
		return "does not answer: the machine, or the way to it, is down"
	case code == http.StatusOK:
		return "answers: the agent is alive, its session is not"
	case code == http.StatusServiceUnavailable:
		return "answers that the agent hangs"
	}
	return fmt.Sprintf("is answered by something else than an agent (HTTP %d)", code)
}

// livez asks for /livez. It leaves nothing behind that works on, as the transports of net/http do.
func livez(ctx context.Context, dial func(context.Context, string) (net.Conn, error), addr string) (code int, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/livez", nil)
	if err != nil {
		return 0, err
	}
	q.Close = true
	conn, err := dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // whoever reads wakes up
	defer func() { _ = conn.Close() }()                         // its status says all
	if err := q.Write(conn); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, maxAnswer)), q)
	if err != nil {
		return 0, err
	}
	_ = answer.Body.Close() // its status says all
	return answer.StatusCode, nil
}
