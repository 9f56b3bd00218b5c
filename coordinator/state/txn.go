package state

import (
	"context"
	"encoding/json"
	"time"

	"rvol/coordinator/model"
)

// A Txn is all the Raft log ever carries: facts, never decisions. It is applied whole
// or refused whole, with the same result on every coordinator for ever.
type Txn struct {
	Cause       string               `json:"cause"`                  // a sentence for people: "place db-1/2 on node c, vg0"
	RequestID   string               `json:"request_id,omitempty"`   // set at the doors only
	RequestHash string               `json:"request_hash,omitempty"` // of what the client asked; a repeated request must have the same. Empty: the transaction itself must be the same
	Actor       string               `json:"actor"`                  // who: "admin/alice", "agent/n1", "controller/scheduling"
	Expect      map[model.Key]uint64 `json:"expect,omitempty"`       // must still be at this revision; 0: must not exist
	Put         []Put                `json:"put,omitempty"`
	Delete      []model.Key          `json:"delete,omitempty"`
}

// Put is one object to store, as the bytes that were proposed.
type Put struct {
	Key   model.Key       `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Entry is one record of the log: a batch of transactions, each judged by itself, in order.
type Entry struct {
	Time time.Time // the leader's clock, for people; no decision and no constraint reads it but token expiry
	Txns []Txn
}

// Result is what became of one transaction.
type Result struct {
	Revision uint64         `json:"revision,omitempty"` // index at which it is in force; of the first time, for a repeated request
	Refusal  *model.Refusal `json:"refusal,omitempty"`
}

// Err is nil when the transaction was accepted.
func (r Result) Err() error {
	if r.Refusal == nil {
		return nil
	}
	return r.Refusal
}

// A Proposer puts a transaction through Raft and answers with the index at which it is
// in force. A refusal is a *model.Refusal; elsewhere than on the leader it fails with
// *model.NotLeaderError; model.ErrUnknown means that it may or may not have happened:
// try again with the same request id.
type Proposer interface {
	Propose(ctx context.Context, t Txn) (uint64, error)
}

// Build collects the changes of one transaction. Objects changed through it carry the
// revision they were read at, which becomes what the transaction expects.
type Build struct {
	txn Txn
	err error
}

// NewTxn starts a transaction.
func NewTxn(actor, cause string) *Build {
	return &Build{txn: Txn{Actor: actor, Cause: cause}}
}

// Put stores o, which must still be at the revision it was read at (0: must be new).
func (b *Build) Put(o model.Object) *Build {
	b.Expect(o.Key(), o.Info().Revision)
	return b.PutAnyway(o)
}

// PutAnyway stores o without expecting anything of what is there.
func (b *Build) PutAnyway(o model.Object) *Build {
	v, err := model.Encode(o)
	if err != nil {
		b.err = err
		return b
	}
	b.txn.Put = append(b.txn.Put, Put{Key: o.Key(), Value: v})
	return b
}

// Delete removes o, which must still be at the revision it was read at.
func (b *Build) Delete(o model.Object) *Build {
	b.Expect(o.Key(), o.Info().Revision)
	b.txn.Delete = append(b.txn.Delete, o.Key())
	return b
}

// Expect demands that key is still at revision rev (0: does not exist).
func (b *Build) Expect(key model.Key, rev uint64) *Build {
	if b.txn.Expect == nil {
		b.txn.Expect = map[model.Key]uint64{}
	}
	b.txn.Expect[key] = rev
	return b
}

// Request sets the request id of the door.
func (b *Build) Request(id string) *Build {
	b.txn.RequestID = id
	return b
}

// RequestOf sets the request id of the door, and a hash of what the client asked. Doors
// that put new uids or times into the transaction need it: their second transaction for
// one request is never the same as the first.
func (b *Build) RequestOf(id, hash string) *Build {
	b.txn.RequestHash = hash
	return b.Request(id)
}

// Because replaces the cause.
func (b *Build) Because(cause string) *Build {
	b.txn.Cause = cause
	return b
}

// Empty says whether the transaction changes nothing.
func (b *Build) Empty() bool { return len(b.txn.Put) == 0 && len(b.txn.Delete) == 0 }

// Txn returns the transaction, or why an object could not be encoded.
func (b *Build) Txn() (Txn, error) { return b.txn, b.err }
