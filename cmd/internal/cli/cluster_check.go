package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

const checkLong = `Check looks whether the state is sound and the same on all coordinators, and compares it with what every agent reports.
The exit status is 1 when something is wrong. What cannot be seen from here is Unknown and says why.`

func (a *app) clusterCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Look whether the state is sound, and whether nodes hold what it says", Long: checkLong, Args: args(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			found, err := adminv1.NewClusterClient(a.client).Check(ctx, &adminv1.ClusterCheckRequest{})
			if err != nil {
				return err
			}
			same, err := a.sameState(ctx)
			if err != nil {
				return err
			}
			at := len(found.GetInvariants()) // I8 comes before I9
			for i, v := range found.GetInvariants() {
				if v.GetId() == "I9" {
					at = i
				}
			}
			found.Invariants = append(found.GetInvariants()[:at:at], append([]*adminv1.Invariant{same}, found.GetInvariants()[at:]...)...)
			if err := a.showCheck(found); err != nil {
				return err
			}
			return broken(found)
		}),
	}
}

func (a *app) showCheck(found *adminv1.ClusterCheck) error {
	if a.flags.structured() {
		return a.write(objectOf(found))
	}
	promises := table{paint: a.paints(), heads: []string{"PROMISE", "HOLDS", "WHAT", "FINDINGS"}}
	for _, v := range found.GetInvariants() {
		promises.rows = append(promises.rows, []string{v.GetId(), v.GetStatus(), v.GetSays(), dash(strings.Join(v.GetFindings(), "; "))})
	}
	unknown := table{heads: []string{"NODES OF WHICH NOTHING IS KNOWN"}}
	for _, n := range found.GetUnknown() {
		unknown.rows = append(unknown.rows, []string{n})
	}
	return a.tables(promises, a.differenceTable(found.GetDifferences()), unknown)
}

// broken is the failure of a check that found something.
func broken(found *adminv1.ClusterCheck) error {
	var ids []string
	for _, v := range found.GetInvariants() {
		if v.GetStatus() == "False" {
			ids = append(ids, v.GetId())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return failed("the cluster is not sound: %s", strings.Join(ids, ", "))
}

// The coordinators are asked so often, and with such pauses, until all were seen at an
// index at which another was.
const (
	polls   = 30
	between = 100 * time.Millisecond
)

// sameState asks every coordinator for its own memory: at the same index all must
// remember the same.
func (a *app) sameState(ctx context.Context) (*adminv1.Invariant, error) {
	endpoints, err := a.client.order()
	if err != nil {
		return nil, err
	}
	m := memories{hashes: map[uint64]map[string]string{}, met: map[string]bool{}, silent: map[string]bool{}}
	for range polls {
		for _, endpoint := range endpoints {
			if s, err := a.statusOf(ctx, endpoint); err != nil {
				m.silent[endpoint+": "+plain(err)] = true
			} else {
				m.compare(s)
			}
		}
		if len(m.differ) > 0 || m.all() {
			break
		}
		sleep(ctx, between)
	}
	out := &adminv1.Invariant{Id: "I8", Says: "all coordinators remember the same at the same index", Status: "True"}
	switch {
	case len(m.differ) > 0:
		out.Status, out.Findings = "False", m.differ
	case len(m.silent) > 0 || !m.all():
		out.Status = "Unknown"
		out.Findings = append(slices.Sorted(maps.Keys(m.silent)), "not all were seen at the same index")
	}
	return out, nil
}

// memories is what coordinators said that they remember.
type memories struct {
	hashes map[uint64]map[string]string // by index, by coordinator
	met    map[string]bool              // coordinators, and whether another was seen at an index of theirs
	silent map[string]bool
	differ []string
}

func (m *memories) compare(s *adminv1.ClusterStatus) {
	own, index := s.GetAnsweredBy(), s.GetAppliedIndex()
	if m.hashes[index] == nil {
		m.hashes[index] = map[string]string{}
	}
	m.hashes[index][own] = s.GetStateHash()
	if _, heard := m.met[own]; !heard {
		m.met[own] = false
	}
	for other, hash := range m.hashes[index] {
		if other == own {
			continue
		}
		m.met[own], m.met[other] = true, true
		if hash != s.GetStateHash() {
			m.differ = append(m.differ, fmt.Sprintf("at index %d %s and %s differ", index, other, own))
		}
	}
}

// all says that nobody who answered is left uncompared.
func (m *memories) all() bool {
	for _, met := range m.met {
		if !met && len(m.met) > 1 {
			return false
		}
	}
	return len(m.met) > 0
}

// statusOf is the status as one coordinator knows it.
func (a *app) statusOf(ctx context.Context, endpoint string) (*adminv1.ClusterStatus, error) {
	conn, err := a.client.conn(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return adminv1.NewClusterClient(conn).Status(ctx, &adminv1.ClusterStatusRequest{Stale: true})
}
