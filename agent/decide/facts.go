package decide

import (
	"time"

	"rvol/drbd"
)

// Facts is what the agent remembers of its own doing.
type Facts struct {
	// Confirmed: the order came from a coordinator since the agent started.
	// Otherwise it was read from the journal: nothing is made, taken away or
	// changed then, what there is is brought up.
	Confirmed bool
	// Backings is what was made under each reservation.
	Backings map[string]BackingFact
	// Operations is how far each operation has come.
	Operations map[string]OperationFact
	// Applied is the file that a resource was last adjusted to by this
	// process, by resource.
	Applied map[string]string
	// Together is the newest round after whose order both copies of a
	// resource were seen together, by resource.
	Together map[string]int64
	// WasUp: this process has seen the resource looked at up.
	WasUp bool
	// Apart is since when peers of the resource looked at are given up by DRBD, by the
	// node's clock.
	Apart map[drbd.NodeID]time.Time
	// Starved are the devices of the resource looked at whose disk DRBD let go of while its
	// thin pool was full, by number.
	Starved map[int]bool
	// Stuck are peers of the resource looked at that could have given the copy here good
	// data for StuckFor, and did not.
	Stuck []drbd.NodeID
	// Rests: on DRBD 8.4 the resource looked at is UpToDate, and nothing is copied to or from it, since TellAfter.
	Rests bool
	// Told is how many ends of resyncs that filled a device, of those that this stream of events told of, the peer was told of
	// anew, or are remembered for that, by device of the resource looked at.
	Told map[int]int
	// Held is how large the volume was, in bytes, below a device of DRBD 8.4 when this process last had its metadata moved to the end
	// of it, by reservation: minors and names are used again.
	Held map[string]int64
	// Verifying is what was known when a verify was begun by this process, by operation.
	Verifying map[string]Verifying
}

// Verifying is what was known of the past when a verify was begun.
type Verifying struct {
	Stream int
	Past   map[drbd.Pair]drbd.Past
}

// A BackingFact is what this agent has made under one reservation.
type BackingFact struct {
	VGUUID   string `json:"vg_uuid"`
	LV       string `json:"lv"`
	LVUUID   string `json:"lv_uuid,omitempty"`   // empty: lvcreate was begun
	MetaMade bool   `json:"meta_made,omitempty"` // create-md ran: it never runs again
	// Growing is the size in bytes from which the volume was being grown; 0:
	// it was not, or all of that was done.
	Growing int64 `json:"growing,omitempty"`
	// MetaAt is the size of the volume at whose end DRBD's metadata is; 0:
	// the one that it has.
	MetaAt int64 `json:"meta_at,omitempty"`
	// Untold: DRBD 8.4 fills it, or has, and the peer was not told anew that this is over.
	Untold bool `json:"untold,omitempty"`
	// Telling: it is being told, by a pause of resyncs that may not have ended yet.
	Telling bool `json:"telling,omitempty"`
}

// of says that the fact is about this very volume.
func (f BackingFact) of(lv LV) bool { return f.LVUUID == lv.UUID && f.VGUUID == lv.VGUUID }

// An OperationFact is how far an operation has come.
type OperationFact struct {
	Started bool    `json:"started"`
	Result  *Result `json:"result,omitempty"`
}

// A Result is how an operation ended.
type Result struct {
	ID          string `json:"id"`
	Succeeded   bool   `json:"succeeded"`
	Text        string `json:"text"`
	Interrupted bool   `json:"interrupted,omitempty"` // looked up after a crash
	OutOfSync   int64  `json:"out_of_sync,omitempty"` // bytes that a verify found to differ
}
