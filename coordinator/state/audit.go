package state

import (
	"time"

	"rvol/coordinator/model"
)

// A Header is what the audit trail says of one transaction: who, why, when, which
// objects, and what became of it. Headers are chained: each holds the hash of all
// before it, and the newest hash is part of the state.
type Header struct {
	Index     uint64         `json:"index"`
	Number    int            `json:"number"` // of the transaction within the entry, from 0
	Of        int            `json:"of"`     // how many transactions the entry has
	Time      time.Time      `json:"time"`
	Actor     string         `json:"actor"`
	Cause     string         `json:"cause"`
	RequestID string         `json:"request_id,omitempty"`
	Put       []model.Key    `json:"put,omitempty"`
	Delete    []model.Key    `json:"delete,omitempty"`
	Revision  uint64         `json:"revision,omitempty"`
	Refusal   *model.Refusal `json:"refusal,omitempty"`
	Nodes     []string       `json:"nodes,omitempty"`   // that it was about, and its keys do not name
	Volumes   []string       `json:"volumes,omitempty"` // the same
	Previous  Hash           `json:"previous"`          // chain hash of the header before
	Hash      Hash           `json:"hash"`              // Chained(Previous)
}

// A Sink is told of every entry, in order, while it is applied. It must not wait, must
// keep no lock that its readers hold while they read a Store, and must bear being told
// again of what it knows: the log is replayed after a restart.
type Sink interface {
	Append(entry []Header)
	Sync() // what was appended survives a power loss
}

// Sum is the hash that the header must have. The words of a refusal, Nodes and Volumes are
// no part of it: they help to find what the rest proves.
func (h Header) Sum() Hash { return h.sum(newHasher("")) }

func (h Header) sum(s *hasher) Hash {
	s.begin("header").bytes(h.Previous[:]).number(h.Index).number(uint64(h.Number)).number(uint64(h.Of))
	s.number(uint64(h.Time.UnixNano())).text(h.Actor).text(h.Cause).text(h.RequestID)
	for _, keys := range [][]model.Key{h.Put, h.Delete} {
		s.number(uint64(len(keys)))
		for _, k := range keys {
			s.text(k.String())
		}
	}
	return s.result(Result{Revision: h.Revision, Refusal: h.Refusal}).sum()
}

// audit extends the chain by transaction number n of the entry being applied.
func (t *tables) audit(n, of int, txn Txn, res Result, is about) Header {
	h := Header{
		Index: t.index, Number: n, Of: of, Time: t.time,
		Actor: txn.Actor, Cause: txn.Cause, RequestID: txn.RequestID,
		Delete: txn.Delete, Revision: res.Revision, Refusal: res.Refusal, Previous: t.chain,
	}
	for _, p := range txn.Put {
		h.Put = append(h.Put, p.Key)
	}
	h.Nodes, h.Volumes = is.nodes, is.volumes
	h.Hash = h.sum(t.writing.hasher)
	t.chain = h.Hash
	return h
}
