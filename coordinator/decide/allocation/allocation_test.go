package allocation_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/decide/allocation"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		name string
		pool allocation.Pool
		want int64
	}{
		{"an LVG: its extents", allocation.Pool{ExtentSize: 4 * mib, Extents: 25600}, 100 * gib},
		{"an LVG less what is not ours", allocation.Pool{ExtentSize: 4 * mib, Extents: 25600, ForeignExtents: 600}, 25000 * 4 * mib},
		{"an LVG that holds more of others than it has", allocation.Pool{ExtentSize: 4 * mib, Extents: 10, ForeignExtents: 11}, 0},
		{"an LVG with extents of 4 GiB", allocation.Pool{ExtentSize: 4 * gib, Extents: 3}, 12 * gib},
		{"an LVG larger than any number", allocation.Pool{ExtentSize: 1 << 40, Extents: 1 << 40}, math.MaxInt64},
		{"an LVG of nothing", allocation.Pool{}, 0},
		{"a thin pool at 100 percent: its size", allocation.Pool{Thin: true, Size: 7 * gib, Percent: 100}, 7 * gib},
		{"a thin pool at 200 percent: twice its size", allocation.Pool{Thin: true, Size: 7 * gib, Percent: 200}, 14 * gib},
		{"a thin pool at 101 percent is rounded down", allocation.Pool{Thin: true, Size: 99, Percent: 101}, 99},
		{"a thin pool at 99 percent is rounded down", allocation.Pool{Thin: true, Size: 199, Percent: 99}, 197},
		{"a thin pool at 1 percent", allocation.Pool{Thin: true, Size: 199, Percent: 1}, 1},
		{"a thin pool at 0 percent promises nothing", allocation.Pool{Thin: true, Size: gib}, 0},
		{"a thin pool whose product needs more than 64 bits", allocation.Pool{Thin: true, Size: math.MaxInt64 / 5, Percent: 500}, math.MaxInt64 / 5 * 5},
		{"a thin pool larger than any number", allocation.Pool{Thin: true, Size: math.MaxInt64, Percent: 1000}, math.MaxInt64},
		{"a thin pool of less than nothing", allocation.Pool{Thin: true, Size: -5, Percent: 200}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := allocation.Limit(tc.pool); got != tc.want {
				t.Errorf("limit %d, want %d", got, tc.want)
			}
		})
	}
}

func TestFits(t *testing.T) {
	pool := allocation.Pool{Name: "a/vg0", ExtentSize: 4 * mib, Extents: 25} // 100 MiB
	stopped := pool
	stopped.Stopped = allocation.GrowthStopped
	for _, tc := range []struct {
		name          string
		pool          allocation.Pool
		before, after int64
		want          *allocation.Refusal
	}{
		{"an extent below the limit", pool, 0, 96 * mib, nil},
		{"exactly the limit", pool, 40 * mib, 100 * mib, nil},
		{
			"an extent above the limit", pool, 40 * mib, 104 * mib,
			&allocation.Refusal{Pool: "a/vg0", Asked: 64 * mib, Available: 60 * mib, Limit: 100 * mib, Reason: allocation.NoSpace},
		},
		{
			"a byte above the limit", pool, 0, 100*mib + 1,
			&allocation.Refusal{Pool: "a/vg0", Asked: 100*mib + 1, Available: 100 * mib, Limit: 100 * mib, Reason: allocation.NoSpace},
		},
		{"nothing at all", pool, 0, 0, nil},
		{"shrinking above a limit that fell", pool, 300 * mib, 200 * mib, nil},
		{"staying above a limit that fell", pool, 300 * mib, 300 * mib, nil},
		{
			"growing above a limit that fell", pool, 300 * mib, 304 * mib,
			&allocation.Refusal{Pool: "a/vg0", Asked: 4 * mib, Available: 0, Limit: 100 * mib, Reason: allocation.NoSpace},
		},
		{"releasing in a pool that takes no more", stopped, 40 * mib, 0, nil},
		{
			"growing in a pool that takes no more", stopped, 0, 4 * mib,
			&allocation.Refusal{Pool: "a/vg0", Asked: 4 * mib, Available: 0, Limit: 100 * mib, Reason: "GrowthStopped"},
		},
		{
			"growing by more than any number", pool, math.MinInt64, math.MaxInt64,
			&allocation.Refusal{Pool: "a/vg0", Asked: math.MaxInt64, Available: 100 * mib, Limit: 100 * mib, Reason: allocation.NoSpace},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, allocation.Fits(tc.pool, tc.before, tc.after)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestARefusalSaysWhatThereIs(t *testing.T) {
	pool := allocation.Pool{Name: "a/vg0", ExtentSize: 1, Extents: 100}
	if got, want := allocation.Fits(pool, 40, 104).Error(), "a/vg0: 64 bytes asked, 60 of 100 bytes available"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	pool.Stopped = allocation.Cordoned
	if got, want := allocation.Fits(pool, 40, 50).Error(), "a/vg0: 10 bytes asked, takes no more: Cordoned"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAReservationCostsTheMostOfItsSizes(t *testing.T) {
	for _, tc := range []struct {
		name                             string
		granted, pending, observed, want int64
	}{
		{"granted and not yet made", 10, 0, 0, 10},
		{"asked to grow", 10, 20, 10, 20},
		{"found larger than granted", 10, 0, 12, 12},
		{"a resize given up after the LV had grown", 10, 0, 20, 20},
		{"nothing", 0, 0, 0, 0},
		{"less than nothing", -5, -5, -5, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := allocation.Charge(tc.granted, tc.pending, tc.observed); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestSumsStayAtTheLargestNumber(t *testing.T) {
	if got := allocation.Sum(1, 2, 3); got != 6 {
		t.Errorf("1+2+3 is %d", got)
	}
	if got := allocation.Sum(math.MaxInt64, 1, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("more than any number is %d", got)
	}
	if got := allocation.Sum(); got != 0 {
		t.Errorf("nothing is %d", got)
	}
}

func TestSizesAreRoundedUpAsRecorded(t *testing.T) {
	table, err := os.ReadFile("testdata/align.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(table) {
		var row struct {
			Bytes   int64
			Aligned int64 `json:"aligned_bytes"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if got := allocation.RoundUp(row.Bytes, 4096); got != row.Aligned {
			t.Errorf("%d is rounded to %d, want %d", row.Bytes, got, row.Aligned)
		}
	}
}

func TestRoundingAtTheEdges(t *testing.T) {
	for _, tc := range []struct {
		name             string
		size, unit, want int64
	}{
		{"nothing stays nothing", 0, 4096, 0},
		{"less than nothing is nothing", -1, 4096, 0},
		{"no unit leaves the size", 5, 0, 5},
		{"a unit of one leaves the size", 5, 1, 5},
		{"the largest number goes down to a multiple", math.MaxInt64, 4096, math.MaxInt64 - 4095},
		{"a unit larger than the size", 1, 4 * gib, 4 * gib},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := allocation.RoundUp(tc.size, tc.unit); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestArithmeticAgreesWithLargeIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, math.MaxInt64).Draw(t, "size")
		percent := rapid.Int64Range(0, 2000).Draw(t, "percent")
		want := new(big.Int).Mul(big.NewInt(size), big.NewInt(percent))
		want.Div(want, big.NewInt(100))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := allocation.Limit(allocation.Pool{Thin: true, Size: size, Percent: percent}); got != want.Int64() {
			t.Errorf("%d percent of %d: %d, want %v", percent, size, got, want)
		}
	})
}

// However requests come, what was accepted never grows past a limit, and what is refused would have.
func TestGrowthNeverPassesTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := allocation.Pool{Name: "p", ExtentSize: 4}
		pool.Extents = rapid.Int64Range(0, 50).Draw(t, "extents")
		sum := int64(0)
		for range rapid.IntRange(0, 60).Draw(t, "requests") {
			if rapid.IntRange(0, 9).Draw(t, "the limit changes") == 4 {
				pool.Extents = rapid.Int64Range(0, 50).Draw(t, "extents")
			}
			after := max(0, sum+rapid.Int64Range(-40, 40).Draw(t, "change"))
			refusal := allocation.Fits(pool, sum, after)
			switch limit := allocation.Limit(pool); {
			case refusal == nil && after > sum && after > limit:
				t.Fatalf("grew from %d to %d past %d", sum, after, limit)
			case refusal != nil && (after <= sum || after <= limit):
				t.Fatalf("refused %d to %d of %d", sum, after, limit)
			case refusal != nil && allocation.Fits(pool, sum, sum+refusal.Available) != nil:
				t.Fatalf("refused what it said is available: %v", refusal)
			case refusal == nil:
				sum = after
			}
		}
	})
}

func TestAvailable(t *testing.T) {
	pool := allocation.Pool{ExtentSize: 1, Extents: 100}
	for _, tc := range []struct{ sum, want int64 }{{0, 100}, {40, 60}, {100, 0}, {170, 0}, {-5, 100}} {
		if got := allocation.Available(pool, tc.sum); got != tc.want {
			t.Errorf("%d of 100 promised: %d available, want %d", tc.sum, got, tc.want)
		}
	}
	pool.Stopped = allocation.DuplicateUUID
	if got := allocation.Available(pool, 0); got != 0 {
		t.Errorf("%d available in a pool that takes no more", got)
	}
}
