package allocation

// Over-provisioning of thin pools, in percent of the pool's size.
const (
	DefaultThinPercent = 200
	MaxThinPercent     = 100_000
)

// A Pool is what is known of the capacity of one LVG (thick) or one thin pool (thin).
type Pool struct {
	Name string // for people, as refusals show it

	// Thick: an LVG. Extents that hold LVs which are not ours, thin pools among them, are foreign.
	ExtentSize, Extents, ForeignExtents int64

	// Thin: a thin pool of Size bytes that may promise Percent of them.
	Thin    bool
	Size    int64
	Percent int64

	// Stopped says why the pool may not grow at all; empty: it may.
	// A thin pool whose data or metadata crossed its stop, a cordon, a UUID seen on two nodes.
	Stopped StopReason
}

// A StopReason says why a pool takes nothing more, whatever its limit.
type StopReason string

// Why a pool takes nothing more.
const (
	GrowthStopped StopReason = "GrowthStopped" // data or metadata of a thin pool are nearly full
	Cordoned      StopReason = "Cordoned"      // an operator said so
	DuplicateUUID StopReason = "DuplicateUUID" // two nodes report the same volume group: cloned disks
	PoolLost      StopReason = "PoolLost"      // the volume group was not seen again
)

// Limit is how much the pool may promise in all.
func Limit(p Pool) int64 {
	if p.Thin {
		return percentOf(p.Size, p.Percent)
	}
	return times(p.Extents-p.ForeignExtents, p.ExtentSize)
}

// Available is how much of the pool may still be promised when sum is promised already; never negative.
func Available(p Pool, sum int64) int64 {
	if p.Stopped != "" {
		return 0
	}
	return max(0, Limit(p)-max(0, sum))
}
