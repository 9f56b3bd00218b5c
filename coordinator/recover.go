package coordinator

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"rvol/coordinator/consensus"
	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// RecoverConfig says which member is to go on alone.
type RecoverConfig struct {
	Dir     string
	Confirm string // the name of the member typed once more; empty: Ask is asked

	// Ask shows what is about to happen and returns what was typed.
	Ask func(text string) (string, error)
	Log *slog.Logger
}

// Recover makes the member in a directory the whole cluster, when the majority of the
// coordinators is lost for good. It must not run. What only the others remember is lost.
func Recover(c RecoverConfig) error {
	p, err := loadPlace(c.Dir)
	if err != nil {
		return err
	}
	return consensus.Recover(consensus.Config{ID: p.Name, Dir: raftDir(c.Dir), Logger: c.Log}, func(r consensus.Recovery) (state.Txn, error) {
		text, err := prognosis(p.Name, r)
		if err != nil {
			return state.Txn{}, err
		}
		typed := c.Confirm
		if typed == "" {
			if typed, err = c.Ask(text); err != nil {
				return state.Txn{}, err
			}
		}
		if typed != p.Name {
			return state.Txn{}, fmt.Errorf("%w: %q is not the name of this coordinator, %s: nothing was done", model.ErrInvalid, typed, p.Name)
		}
		return control.Recovered(r.State, p.Name, time.Now())
	})
}

// prognosis says what there is and what may be lost.
func prognosis(name string, r consensus.Recovery) (string, error) {
	cluster, ok := state.Get[*model.Cluster](r.State, model.ClusterName)
	if !ok {
		return "", fmt.Errorf("%w: coordinator %s has nothing of the cluster yet: recover another", model.ErrNotFound, name)
	}
	var others, volumes []string
	for m := range state.All[*model.Member](r.State) {
		if m.Name != name {
			others = append(others, m.Name)
		}
	}
	for v := range state.All[*model.Volume](r.State) {
		volumes = append(volumes, v.Name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Coordinator %s of cluster %s remembers everything up to index %d, of %s: %d volumes.\n",
		name, cluster.ID, r.LastIndex, r.State.Time().UTC().Format("2006-01-02 15:04:05 MST"), len(volumes))
	b.WriteString("It will go on as the only coordinator. What may be lost: everything that the others acknowledged after that,\n" +
		"if this one was behind them. Recover the one with the highest index.\n")
	if len(others) > 0 {
		fmt.Fprintf(&b, "Stop these for ever before you go on, and never start them again with what they have: %s.\n"+
			"Each may join anew, with an empty folder.\n", strings.Join(others, ", "))
	}
	b.WriteString("Afterwards nothing is removed or changed on any node until: rvol cluster reconcile --accept\n")
	return b.String(), nil
}
