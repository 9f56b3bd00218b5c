package model

import "time"

// Status is the answer of a condition.
type Status string

// A condition is True, False, or not known; a missing report is Unknown, never False.
const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition is one statement about an object, with a reason for machines and a
// message for people.
type Condition struct {
	Type               string    `json:"type"`
	Status             Status    `json:"status"`
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	ObservedGeneration int64     `json:"observed_generation,omitempty"`
	LastTransition     time.Time `json:"last_transition,omitzero"`
}

// Conditions are the statements about one object, at most one of each type.
type Conditions []Condition

// Get returns the condition of type t and whether there is one.
func (cs Conditions) Get(t string) (Condition, bool) {
	for _, c := range cs {
		if c.Type == t {
			return c, true
		}
	}
	return Condition{Type: t, Status: Unknown}, false
}

// Is says whether the condition of type t exists and has the given status.
func (cs Conditions) Is(t string, s Status) bool {
	c, ok := cs.Get(t)
	return ok && c.Status == s
}

// With returns a copy of cs in which c stands in the place of its type. LastTransition
// moves to now only when the status changes; an unchanged condition leaves cs as it is.
func (cs Conditions) With(c Condition, now time.Time) Conditions {
	out := make(Conditions, 0, len(cs)+1)
	found := false
	for _, old := range cs {
		if old.Type != c.Type {
			out = append(out, old)
			continue
		}
		found = true
		c.LastTransition = now
		if old.Status == c.Status {
			c.LastTransition = old.LastTransition
		}
		out = append(out, c)
	}
	if !found {
		c.LastTransition = now
		out = append(out, c)
	}
	return out
}

// Without returns a copy of cs that lacks the condition of type t.
func (cs Conditions) Without(t string) Conditions {
	var out Conditions
	for _, c := range cs {
		if c.Type != t {
			out = append(out, c)
		}
	}
	return out
}
