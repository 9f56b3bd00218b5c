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
