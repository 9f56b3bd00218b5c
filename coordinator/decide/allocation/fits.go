package allocation

import "fmt"

// A Reason is the machine-readable half of a refusal.
type Reason string

// NoSpace is the Reason when there is no room. The others are reasons to stop.
const NoSpace Reason = "NoSpace"

// A Refusal says which pool refused, how much was asked of it and how much it has. All numbers are bytes.
type Refusal struct {
	Pool      string
	Asked     int64 // how much the sum would have grown
	Available int64 // how much it may grow
	Limit     int64
	Reason    Reason
}

func (r *Refusal) Error() string {
	if r.Reason == NoSpace {
		return fmt.Sprintf("%s: %d bytes asked, %d of %d bytes available", r.Pool, r.Asked, r.Available, r.Limit)
	}
	return fmt.Sprintf("%s: %d bytes asked, takes no more: %s", r.Pool, r.Asked, r.Reason)
}

// Fits says whether the sum of a pool's charges may go from before to after in one transaction.
// Only growth is ever refused: shrinking, releasing and a sum that stands above a fallen limit are accepted.
func Fits(p Pool, before, after int64) *Refusal {
	if after <= before {
		return nil
	}
	r := &Refusal{
		Pool:      p.Name,
		Asked:     growth(before, after),
		Available: Available(p, before),
		Limit:     Limit(p),
		Reason:    NoSpace,
	}
	switch {
	case p.Stopped != "":
		r.Reason = Reason(p.Stopped)
	case after <= r.Limit:
		return nil
	}
	return r
}

func growth(before, after int64) int64 {
	if before < 0 && after > largest+before {
		return largest
	}
	return after - before
}
