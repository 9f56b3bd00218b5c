package scheduling

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"
)

func TestCapacityScoresAreTheRecordedOnes(t *testing.T) {
	table, err := os.ReadFile("testdata/capacity-score.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(table) {
		var s struct {
			Name  string
			Input struct {
				Size  int64 `json:"size_bytes"`
				Total int64 `json:"total_bytes"`
			}
			Expect struct {
				Available int64 `json:"available_bytes"`
				Fits      bool
				Score     int64
			}
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		room := Room(s.Expect.Available, s.Input.Total)
		if got := room.rate(s.Input.Size); got != s.Expect.Score {
			t.Errorf("%s: score %d, want %d", s.Name, got, s.Expect.Score)
		}
	}
}

func TestEveryPercentageScoresItsLogarithm(t *testing.T) {
	for percent, score := range logs {
		want := 1.0
		if percent > 0 {
			want = max(minScore, min(maxScore, math.Round(math.Log2(float64(percent)))))
		}
		if float64(score) != want {
			t.Errorf("%d percent scores %d, want %v", percent, score, want)
		}
	}
}

func TestCapacityAtItsEdges(t *testing.T) {
	for _, tc := range []struct {
		name string
		room Capacity
		size int64
		want int64
	}{
		{"exactly available fits with the lowest score", Room(100, 1000), 100, 1},
		{"one byte more than available does not fit", Room(100, 1000), 101, 0},
		{"nothing of nothing fits", Room(0, 0), 0, 1},
		{"a negative total does not divide", Room(10, -1), 1, 1},
		{"more available than there is in all scores at most ten", Room(math.MaxInt64, 1), 0, 10},
		{"a given score of zero does not fit", Score(0), 1, 0},
		{"a negative given score does not fit", Score(-3), 1, 0},
		{"a given score stands as it is", Score(90), 1, 90},
		{"the largest given score leaves room for bonuses", Score(math.MaxInt64), 1, 1 << 60},
		{"what is not known does not fit", Capacity{}, 0, 0},
		{"an overcommitted place has a negative room", Room(-5, 1000), 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.room.rate(tc.size); got != tc.want {
				t.Errorf("score %d, want %d", got, tc.want)
			}
		})
	}
}

// The quick rating must never differ from the one that is written, least of all near whole percentages.
func TestTheQuickRatingIsTheWrittenOne(t *testing.T) {
	for _, total := range []int64{1, 7, 99, 100, 101, 1000, 1_000_003, 100 << 30, 7<<40 + 1, 1 << 60, math.MaxInt64} {
		for percent := int64(0); percent <= 100; percent++ {
			border := int64(float64(total) / 100 * float64(percent))
			for _, left := range []int64{border - 2, border - 1, border, border + 1, border + 2} {
				if left < 0 || left > total {
					continue
				}
				room := Room(left, total)
				fit, rating, ok := rateQuickly([]quick{room.quick()}, 0)
				if ok && (fit != 1 || rating != room.rate(0)) {
					t.Errorf("%d of %d left: %d, want %d", left, total, rating, room.rate(0))
				}
			}
		}
	}
}

func TestTheQuickRatingOfManyIsTheHighest(t *testing.T) {
	const size = 10
	rooms := []Capacity{Room(9, 100), Room(25, 101), Room(-7, 100), Room(85, 101), Room(40, 101)}
	var quicks []quick
	for _, r := range rooms {
		quicks = append(quicks, r.quick())
	}
	fit, rating, ok := rateQuickly(quicks, size)
	if want := rooms[3].rate(size); !ok || fit != 3 || rating != want {
		t.Errorf("%d fit, the best is rated %d (%v), want 3 and %d", fit, rating, ok, want)
	}
	if fit, _, ok := rateQuickly(quicks[:1], size); fit != 0 || !ok {
		t.Errorf("%d of what does not fit fits (%v)", fit, ok)
	}
}
