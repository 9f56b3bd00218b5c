package act

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"rvol/agent/decide"
	"rvol/drbd"
)

// A Journal is what the agent remembers over restarts: the newest order it
// accepted, and what it has begun and made. Every change is on disk when the
// method returns. Its files hold the resources' secrets and are for root alone.
type Journal struct {
	dir  string
	hook func(point string) error

	mu       sync.Mutex
	order    decide.Desired
	kept     []decide.Resource
	accepted bool
	facts    facts
}

// facts is the second file. It is small and changes often; the order is large.
type facts struct {
	Backings   map[string]decide.BackingFact   `json:"backings"`
	Operations map[string]decide.OperationFact `json:"operations"`
	Acked      map[string]bool                 `json:"acked"` // operations whose result the coordinators have
}

// order is the first file: secrets stand apart, because they hide themselves.
type order struct {
	Desired decide.Desired         `json:"desired"`
	Kept    []decide.Resource      `json:"kept,omitempty"` // of earlier orders, that none released
	Secrets map[string]plainSecret `json:"secrets"`        // by resource
}

type plainSecret string

const (
	orderFile = "order.json"
	factsFile = "journal.json"
)

// OpenJournal reads the journal in dir, which is made when it is not there.
// The hook, which may be nil, is called after every write; tests end the
// agent there.
func OpenJournal(dir string, hook func(point string) error) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{dir: dir, hook: hook}
	var o order
	switch err := j.read(orderFile, &o); {
	case err == nil:
		j.order, j.kept, j.accepted = o.Desired, o.Kept, true
		for _, list := range [][]decide.Resource{j.order.Resources, j.kept} {
			for i, r := range list {
				list[i].Secret = drbd.Secret(o.Secrets[r.Name])
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := j.read(factsFile, &j.facts); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if j.facts.Backings == nil {
		j.facts.Backings = map[string]decide.BackingFact{}
	}
	if j.facts.Operations == nil {
		j.facts.Operations = map[string]decide.OperationFact{}
	}
	if j.facts.Acked == nil {
		j.facts.Acked = map[string]bool{}
	}
	return j, nil
}

func (j *Journal) read(name string, into any) error {
	path := filepath.Join(j.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read journal %s: %w: if its disk was damaged, move the file away: volumes come up again once a coordinator is reached", path, err)
	}
	return nil
}

// Order is the newest order accepted; false: none ever was.
func (j *Journal) Order() (decide.Desired, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.order, j.accepted
}

// Kept is what earlier orders named and none released.
func (j *Journal) Kept() []decide.Resource {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.kept)
}

// A StaleOrderError is an order older than the newest accepted one.
type StaleOrderError struct{ Got, Accepted decide.Order }

// Error names both.
func (e *StaleOrderError) Error() string {
	return fmt.Sprintf("order %s is older than %s, which was accepted", e.Got, e.Accepted)
}

// Accept writes an order down, or refuses it as stale. The same order may
// come again.
func (j *Journal) Accept(d decide.Desired) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.accepted && d.Order.Before(j.order.Order) {
		return &StaleOrderError{Got: d.Order, Accepted: j.order.Order}
	}
	o := order{Desired: d, Kept: decide.Kept(j.kept, j.order.Resources, d), Secrets: map[string]plainSecret{}}
	for _, r := range slices.Concat(d.Resources, o.Kept) {
		o.Secrets[r.Name] = plainSecret(r.Secret)
	}
	if err := j.write(orderFile, o); err != nil {
		return err
	}
	j.order, j.kept, j.accepted = d, o.Kept, true
	if err := j.reached("journal: order " + d.Order.String()); err != nil {
		return err
	}
	if f := j.pruned(); len(f.Backings) != len(j.facts.Backings) || len(f.Operations) != len(j.facts.Operations) {
		return j.save(f, "forget what the order no longer names")
	}
	return nil
}

// pruned leaves out what the order no longer names: reservations that are
// neither held nor to be released, and operations that were acknowledged.
func (j *Journal) pruned() facts {
	f := j.copy()
	backings, operations := map[string]bool{}, map[string]bool{}
	for _, r := range j.order.Resources {
		for _, d := range r.Devices {
			if d.Backing != nil {
				backings[d.Backing.Reservation] = true
			}
		}
	}
	for _, r := range j.order.Releases {
		backings[r.Reservation] = true
	}
	for _, o := range j.order.Operations {
		operations[o.ID] = true
	}
	maps.DeleteFunc(f.Backings, func(id string, _ decide.BackingFact) bool { return !backings[id] })
	maps.DeleteFunc(f.Operations, func(id string, o decide.OperationFact) bool {
		return !operations[id] && (o.Result == nil || f.Acked[id])
	})
	maps.DeleteFunc(f.Acked, func(id string, _ bool) bool { _, kept := f.Operations[id]; return !kept })
	return f
}

func (j *Journal) copy() facts {
	return facts{Backings: maps.Clone(j.facts.Backings), Operations: maps.Clone(j.facts.Operations), Acked: maps.Clone(j.facts.Acked)}
}

// Facts is a copy of what was done.
func (j *Journal) Facts() decide.Facts {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.copy()
	return decide.Facts{Backings: f.Backings, Operations: f.Operations}
}

// Backing writes down how far a reservation has come.
func (j *Journal) Backing(reservation string, fact decide.BackingFact) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.copy()
	f.Backings[reservation] = fact
	return j.save(f, fmt.Sprintf("backing %s %+v", reservation, fact))
}

// Start writes down that an operation is about to run.
func (j *Journal) Start(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.copy()
	f.Operations[id] = decide.OperationFact{Started: true}
	return j.save(f, "operation "+id+" started")
}

// Finish writes down how an operation ended.
func (j *Journal) Finish(r decide.Result) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.copy()
	f.Operations[r.ID] = decide.OperationFact{Started: true, Result: &r}
	delete(f.Acked, r.ID)
	return j.save(f, "operation "+r.ID+" finished")
}

// Results are the operations that ended and whose end no coordinator has
// acknowledged.
func (j *Journal) Results() []decide.Result {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []decide.Result
	for _, id := range sortedKeys(j.facts.Operations) {
		if o := j.facts.Operations[id]; o.Result != nil && !j.facts.Acked[id] {
			list = append(list, *o.Result)
		}
	}
	return list
}

// Acked notes that a result arrived. It is forgotten once the order no longer
// lists the operation.
func (j *Journal) Acked(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if o, known := j.facts.Operations[id]; !known || o.Result == nil || j.facts.Acked[id] {
		return nil
	}
	f := j.copy()
	f.Acked[id] = true
	return j.save(f, "operation "+id+" acknowledged")
}

// save replaces the facts, first on disk.
func (j *Journal) save(f facts, point string) error {
	if err := j.write(factsFile, f); err != nil {
		return err
	}
	j.facts = f
	return j.reached("journal: " + point)
}

// reached calls the hook.
func (j *Journal) reached(point string) error {
	if j.hook == nil {
		return nil
	}
	if err := j.hook(point); err != nil {
		return &CrashError{Err: err}
	}
	return nil
}

// A CrashError is what a test's hook returned: nothing may happen after it.
type CrashError struct{ Err error }

// Error gives the hook's text.
func (e *CrashError) Error() string { return e.Err.Error() }

// Unwrap gives the hook's error.
func (e *CrashError) Unwrap() error { return e.Err }

func (j *Journal) write(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := replaceFile(filepath.Join(j.dir, name), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}
