package door

import (
	"fmt"
	"strings"
	"time"

	"rvol/coordinator/model"
)

// Refused is a call that is not carried out: what it is about, why, and what to do.
type Refused struct {
	Kind   error  // one of model's sentinels
	Object string // "volume/db-1"; empty: the call itself
	Reason string
	Next   string // what to do about it; empty: nothing to add

	Asked, Available int64 // bytes, where it is about space

	RetryAfter time.Duration // when to try again; 0: nobody knows
}

// Error is the object and the reason.
func (r *Refused) Error() string {
	if r.Object == "" {
		return r.Reason
	}
	return strings.Replace(r.Object, "/", " ", 1) + ": " + r.Reason
}

// Unwrap is the sentinel.
func (r *Refused) Unwrap() error { return r.Kind }

// Refuse makes a Refused about an object.
func Refuse(kind error, about model.Key, reason, next string) error {
	return &Refused{Kind: kind, Object: about.String(), Reason: reason, Next: next}
}

// Invalid refuses what was asked of an object as such.
func Invalid(about model.Key, format string, args ...any) error {
	return Refuse(model.ErrInvalid, about, fmt.Sprintf(format, args...), "")
}

// NotFound says that an object does not exist.
func NotFound(about model.Key) error {
	return Refuse(model.ErrNotFound, about, "not found", "")
}
