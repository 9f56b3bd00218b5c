package state

import (
	"rvol/coordinator/model"
)

// requestRows is how many requests are remembered, first in first out. All coordinators
// must forget at the same time: it is part of the format.
const requestRows = 100_000

// request is what became of one request from a door.
type request struct {
	Number  uint64 `json:"number"`  // counts up; the oldest has the lowest
	Content Hash   `json:"content"` // of what was asked
	Result  Result `json:"result"`
}

// again answers a repeated request.
func (r request) again(id string, content Hash) Result {
	if r.Content == content {
		return r.Result
	}
	return Result{Refusal: &model.Refusal{
		Constraint: model.ConstraintRequest, Object: "request " + id,
		Reason: "this request id was used for something else: use a new one",
	}}
}

func (t *tables) remember(id string, r request) {
	r.Number = t.nextReq
	t.nextReq++
	t.keep(id, r)
	for t.queue.Len() > requestRows {
		_, oldest, _ := t.queue.PopMin()
		forgotten, _ := t.requests.Delete(oldest)
		t.sum.remove(requestHash(oldest, forgotten))
	}
}

func (t *tables) keep(id string, r request) {
	t.requests.Set(id, r)
	t.queue.Set(r.Number, id)
	t.sum.add(requestHash(id, r))
}

// contentHash is of everything in a transaction but its request id, or of what the
// client asked where the door says so.
func contentHash(txn Txn) Hash {
	h := newHasher("content")
	if txn.RequestHash != "" {
		return h.text(txn.Actor).text(txn.RequestHash).sum()
	}
	h.text(txn.Actor).text(txn.Cause)
	for _, k := range txn.expected() {
		h.text(k.String()).number(txn.Expect[k])
	}
	h.number(uint64(len(txn.Put)))
	for _, p := range txn.Put {
		h.text(p.Key.String()).bytes(p.Value)
	}
	for _, k := range txn.Delete {
		h.text(k.String())
	}
	return h.sum()
}
