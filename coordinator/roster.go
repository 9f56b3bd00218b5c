package coordinator

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// roster is who the members are, by their keys, at one index of the log. It is kept beside
// the log because the log alone does not say so at a start: what is in it counts only
// when there is a leader again, and to have one the members must believe each other.
type roster struct {
	Index uint64    `json:"index"`
	Time  time.Time `json:"time"` // of the newest entry then
	Keys  []string  `json:"keys"` // sorted
}

func loadRoster(dir string) (roster, error) {
	var r roster
	b, err := identity.ReadPrivateFile(rosterFile(dir))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read who the members are: %w", err)
	}
	return r, nil
}

func (r roster) save(dir string) error { return saveJSON(rosterFile(dir), r) }

// rosterOf is what the state says.
func rosterOf(v state.View) roster {
	r := roster{Index: v.Index(), Time: v.Time()}
	for i := range state.All[*model.Identity](v) {
		if i.Kind == string(identity.Server) {
			r.Keys = append(r.Keys, i.Name)
		}
	}
	return r
}

// current is the newer of what the state says and what was saved.
func (a *acquaintances) current() roster {
	now := rosterOf(a.store.View())
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Index < a.saved.Index || len(now.Keys) == 0 {
		return a.saved
	}
	return now
}

// follow saves the roster whenever it changes. stop waits for the last time.
func (a *acquaintances) follow() (stop func()) {
	return a.store.Watch(func(_ uint64, keys []model.Key) {
		touched := keys == nil || slices.ContainsFunc(keys, func(k model.Key) bool { return k.Kind == model.KindIdentity })
		if !touched {
			return
		}
		now := rosterOf(a.store.View())
		a.mu.Lock()
		known := now.Index < a.saved.Index || len(now.Keys) == 0 || slices.Equal(now.Keys, a.saved.Keys)
		a.mu.Unlock()
		if known {
			return
		}
		if err := now.save(a.dir); err != nil {
			a.log.Error("the members' keys were not saved", "err", err)
			return
		}
		a.mu.Lock()
		a.saved = now
		a.mu.Unlock()
	})
}
