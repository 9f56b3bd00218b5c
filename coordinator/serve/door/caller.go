package door

import (
	"context"
	"time"

	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// The metadata and headers that calls carry.
const (
	HeaderRequestID = "rvol-request-id" // of the client; makes a repeated call safe
	HeaderIndex     = "rvol-index"      // applied log index of the answer
	HeaderStale     = "rvol-stale"      // why the answer may be old
)

// Caller is who makes a call, and which one it is.
type Caller struct {
	ID  identity.ID
	Key identity.Fingerprint // of the certificate shown; zero for a stranger

	// Until is when that certificate lapses; zero when another coordinator hands the call on.
	Until time.Time

	// RequestID is the client's name of the call; RequestHash is of what it asked.
	RequestID   string
	RequestHash string
}

// Stranger says that the caller showed no certificate.
func (c Caller) Stranger() bool { return c.ID == identity.ID{} }

// Actor is how the log names the caller: "admin/alice", "agent/n1".
func (c Caller) Actor() string {
	if c.Stranger() {
		return "stranger"
	}
	return string(c.ID.Role) + "/" + c.ID.Name
}

// Txn starts a transaction of the caller that a repeated call will not carry out again.
func (c Caller) Txn(cause string) *state.Build {
	b := state.NewTxn(c.Actor(), cause)
	if c.RequestID != "" {
		b.RequestOf(c.RequestID, c.RequestHash)
	}
	return b
}

type callerKey struct{}

// With returns a context of a call by c.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From returns who makes the call of ctx; a stranger when nobody said.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
