package model

// Quota bounds what the volumes with certain labels may grow to, all together.
type Quota struct {
	Meta
	Selector string `json:"selector,omitempty"` // label selector over volumes; empty: all
	Bytes    *int64 `json:"bytes,omitempty"`    // usable bytes of their devices, copies not counted; nil: no limit
	Volumes  *int64 `json:"volumes,omitempty"`  // how many; nil: no limit
}

// Key is the quota's key.
func (q *Quota) Key() Key { return Key{KindQuota, q.Name} }
