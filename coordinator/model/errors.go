package model

import (
	"errors"
	"fmt"
)

// The sentinel errors that everyone uses; test with errors.Is. serve/errors.go alone
// knows which gRPC code each becomes, cmd/rvol which exit status.
var (
	ErrInvalid     = errors.New("invalid")
	ErrNotFound    = errors.New("not found")
	ErrExists      = errors.New("exists already")
	ErrConflict    = errors.New("changed since it was read")
	ErrNoSpace     = errors.New("no space")
	ErrBusy        = errors.New("in use")
	ErrForbidden   = errors.New("not allowed")
	ErrUnavailable = errors.New("unavailable")
	ErrUnknown     = errors.New("outcome unknown")
	ErrCompacted   = errors.New("compacted")
	ErrStopped     = errors.New("stopped after a storage failure")
	ErrQuota       = errors.New("over quota")
	ErrOverloaded  = errors.New("too much at once")
)

// NotLeaderError is the answer of a coordinator that is not the leader.
type NotLeaderError struct {
	Leader string // API address of the leader; empty: none is known
}

// Error names the leader, or says that there is none.
func (e *NotLeaderError) Error() string {
	if e.Leader == "" {
		return "no leader: the coordinators have no majority, or are electing"
	}
	return "not the leader: ask " + e.Leader
}

// Is makes a NotLeaderError an ErrUnavailable.
func (e *NotLeaderError) Is(target error) bool { return target == ErrUnavailable }

// Refusal says which constraint refused a transaction, for which object, how much was
// asked and how much there is.
type Refusal struct {
	Constraint string `json:"constraint"` // one of the constants below
	Object     string `json:"object"`
	Asked      int64  `json:"asked,omitempty"`
	Available  int64  `json:"available,omitempty"`
	Reason     string `json:"reason"`
}

// The constraints of the state (DESIGN 5.2). For expect, asked and available are revisions.
const (
	ConstraintExpect    = "expect"
	ConstraintCapacity  = "capacity"
	ConstraintQuota     = "quota"
	ConstraintUnique    = "unique"
	ConstraintSerial    = "serial"
	ConstraintReference = "reference" // a replica names a reservation that is not there for it
	ConstraintFormed    = "formed"    // a volume that may hold data would be formed anew
	ConstraintToken     = "token"     // a token is lapsed, or was used by another
	ConstraintFormat    = "format"    // the state's format may not become what was asked
	ConstraintRequest   = "request"
	ConstraintDecode    = "decode"
)

// Error renders the refusal as a sentence.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Object, r.Reason) }

// Unwrap maps the constraint to its sentinel.
func (r *Refusal) Unwrap() error {
	switch r.Constraint {
	case ConstraintCapacity:
		return ErrNoSpace
	case ConstraintQuota:
		return ErrQuota
	case ConstraintUnique:
		return ErrExists
	case ConstraintSerial:
		return ErrBusy
	case ConstraintToken, ConstraintFormed:
		return ErrForbidden
	case ConstraintDecode, ConstraintRequest, ConstraintFormat:
		return ErrInvalid
	case ConstraintExpect:
		if r.Asked == 0 { // was to be new, and is there
			return ErrExists
		}
	}
	return ErrConflict
}
