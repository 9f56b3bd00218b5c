package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// readSnapshot proves that a file is a whole snapshot, and reads it.
func readSnapshot(path string) (state.View, error) {
	f, err := os.Open(path)
	if err != nil {
		return state.View{}, failed("read snapshot: %s", err)
	}
	defer func() { _ = f.Close() }() // read only
	s := state.NewStore(state.Options{})
	if err := s.Restore(f); err != nil {
		return state.View{}, failed("%s: %s", path, err)
	}
	return s.View(), nil
}

// snapshotFacts is what inspect tells programs.
type snapshotFacts struct {
	Cluster     string         `json:"cluster" yaml:"cluster"`
	Index       uint64         `json:"index" yaml:"index"`
	Time        string         `json:"time" yaml:"time"`
	Incarnation uint64         `json:"incarnation" yaml:"incarnation"`
	Format      int            `json:"format" yaml:"format"`
	Hash        string         `json:"hash" yaml:"hash"`
	Objects     map[string]int `json:"objects" yaml:"objects"`
}

func (a *app) snapshotInspect() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE", Short: "Prove that a saved state is whole, and say what it is", Args: args("FILE"),
		RunE: a.run(func(_ context.Context, _ *cobra.Command, args []string) error {
			v, err := readSnapshot(args[0])
			if err != nil {
				return err
			}
			facts := snapshotFacts{
				Index: v.Index(), Time: v.Time().UTC().Format("2006-01-02T15:04:05Z"), Format: v.Format(), Hash: v.Hash().String(), Objects: map[string]int{},
			}
			if c, ok := state.Get[*model.Cluster](v, model.ClusterName); ok {
				facts.Cluster, facts.Incarnation = c.ID, c.Incarnation
			}
			for o := range v.Objects() {
				facts.Objects[string(o.Key().Kind)]++
			}
			if a.flags.structured() {
				return a.write(facts)
			}
			t := table{rows: [][]string{
				{"CLUSTER", dash(facts.Cluster)},
				{"INDEX", number(facts.Index)},
				{"TIME", facts.Time},
				{"INCARNATION", number(facts.Incarnation)},
				{"FORMAT", number(facts.Format)},
				{"STATE HASH", facts.Hash},
			}}
			for _, kind := range slices.Sorted(maps.Keys(facts.Objects)) {
				t.rows = append(t.rows, []string{"OBJECTS " + kind, number(facts.Objects[kind])})
			}
			return t.write(a.env.Stdout)
		}),
	}
}

const restoreLong = `Restore replaces the state of all coordinators by a saved one. What was decided since is forgotten. Who is a coordinator,
and whose keys count, stays as it is now. Nothing is removed or changed on any node before "rvol cluster reconcile --accept".`

func (a *app) snapshotRestore() *cobra.Command {
	ok := consent{app: a}
	c := &cobra.Command{
		Use: "restore FILE", Short: "Replace the state of the cluster by a saved one", Long: restoreLong, Args: args("FILE"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			v, err := readSnapshot(args[0])
			if err != nil {
				return err
			}
			now, err := a.status(ctx)
			if err != nil {
				return err
			}
			does := fmt.Sprintf("forgets all that was decided after index %d of %s; the cluster is at index %d", v.Index(), v.Time().UTC().Format("2006-01-02 15:04:05 MST"), now.GetAppliedIndex())
			if err := ok.ask(c, now.GetId(), does); err != nil {
				return err
			}
			done, err := a.restoreSnapshot(ctx, args[0], now.GetId())
			if err != nil {
				return err
			}
			a.note("Nothing is removed or changed on any node until: rvol cluster reconcile --accept")
			return a.changed("cluster", now.GetId(), done, "restored: %s", done.GetMessage())
		}),
	}
	ok.nameFlag(c)
	return c
}

const restoreChunk = 256 << 10 // bytes in one message

func (a *app) restoreSnapshot(ctx context.Context, path, cluster string) (*adminv1.Done, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, failed("read snapshot: %s", err)
	}
	defer func() { _ = f.Close() }() // read only
	stream, err := adminv1.NewClusterClient(a.client).RestoreSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, restoreChunk)
	for {
		n, err := f.Read(buf)
		if errors.Is(err, io.EOF) {
			return stream.CloseAndRecv()
		}
		if err != nil {
			return nil, failed("read snapshot: %s", err)
		}
		if err := stream.Send(&adminv1.RestoreSnapshotRequest{Confirm: cluster, Data: buf[:n]}); err != nil {
			return stream.CloseAndRecv() // which says why
		}
	}
}
