package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// MaxDecisions is how many decisions are kept of one volume.
const MaxDecisions = 4

// Decision is why the replicas of a volume are where they are: what one pass of the
// scheduler chose, or why it could not. It is written in the entry that carries it out, so
// that its revision is that entry's index. Its name is VOLUME/SLOT.
type Decision struct {
	Meta
	Volume   string          `json:"volume"`
	At       time.Time       `json:"at"`                 // for people
	Size     int64           `json:"size"`               // bytes that each Diskful was to take of its place
	Seen     uint64          `json:"seen"`               // log index of the state it was made from
	Placed   bool            `json:"placed"`             // the places were taken
	Search   string          `json:"search,omitempty"`   // when and why the rules alone did not do, and what was found
	Replicas json.RawMessage `json:"replicas,omitempty"` // of Tell: few are ever asked for, so it is read when one is
}

// Tell writes down what was decided about each replica.
func (d *Decision) Tell(replicas []DecisionReplica) error {
	b, err := json.Marshal(replicas)
	if err != nil {
		return fmt.Errorf("write down decision %s: %w", d.Name, err)
	}
	d.Replicas = b
	return nil
}

// Told is what Tell wrote.
func (d *Decision) Told() ([]DecisionReplica, error) {
	var replicas []DecisionReplica
	if len(d.Replicas) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(d.Replicas, &replicas); err != nil {
		return nil, fmt.Errorf("read decision %s: %w", d.Name, err)
	}
	return replicas, nil
}

// Key is the decision's key.
func (d *Decision) Key() Key { return Key{KindDecision, d.Name} }

// DecisionName is the name of the decision in one slot of a volume.
func DecisionName(volume string, slot int) string { return volume + "/" + strconv.Itoa(slot) }

// DecisionReplica is what was decided about one replica.
type DecisionReplica struct {
	ID           int           `json:"id"`
	Type         ReplicaType   `json:"type"`
	Node         string        `json:"node,omitempty"`
	VG           string        `json:"vg,omitempty"`
	ThinPool     string        `json:"thin_pool,omitempty"`
	Chosen       bool          `json:"chosen,omitempty"` // in this pass; else it had the place before
	BySearch     bool          `json:"by_search,omitempty"`
	Reason       string        `json:"reason,omitempty"`
	Message      string        `json:"message,omitempty"`
	Summary      string        `json:"summary,omitempty"` // how the candidates fared
	Alternatives []Alternative `json:"alternatives,omitempty"`
	Omitted      int           `json:"omitted,omitempty"` // alternatives that are not listed
}

// Alternative is one candidate as it was then.
type Alternative struct {
	Node       string      `json:"node"`
	VG         string      `json:"vg,omitempty"`
	ThinPool   string      `json:"thin_pool,omitempty"`
	Zone       string      `json:"zone,omitempty"`
	Chosen     bool        `json:"chosen,omitempty"`
	ExcludedBy string      `json:"excluded_by,omitempty"`
	Score      int64       `json:"score,omitempty"`
	Parts      []ScorePart `json:"parts,omitempty"`
	Available  int64       `json:"available,omitempty"` // bytes
}

// ScorePart is what one rule added to a score.
type ScorePart struct {
	Rule   string `json:"rule"`
	Points int64  `json:"points"`
}
