//go:build chaos

package chaos_test

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"rvol/cmd/internal/lab/chaos"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// fixed is a seed whose run is the same, as far as can be, each time.
const fixed = 1

// TestPromisesHoldInChaos plays one run with a fixed seed and one with a fresh one.
// RVOL_CHAOS_SEED, RVOL_CHAOS_DURATION and RVOL_CHAOS_DRBD=8.4 choose another; with
// RVOL_CHAOS_THREE=1 there are volumes of three copies too, among which the simulated kernel
// does not settle every resync that two cuts at once interrupt as DRBD does.
func TestPromisesHoldInChaos(t *testing.T) {
	t.Parallel()
	duration := 10 * time.Minute
	if d, err := time.ParseDuration(os.Getenv("RVOL_CHAOS_DURATION")); err == nil {
		duration = d
	}
	seed, err := strconv.ParseUint(os.Getenv("RVOL_CHAOS_SEED"), 10, 64)
	chosen := err == nil
	if !chosen {
		seed = rand.Uint64N(1_000_000)
	}
	version := drbdtest.V9
	if os.Getenv("RVOL_CHAOS_DRBD") == "8.4" {
		version = drbdtest.V84
	}
	for name, seed := range map[string]uint64{"fixed": fixed, "fresh": seed} {
		if chosen && name == "fixed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, seed, duration, version)
		})
	}
}

func play(t *testing.T, seed uint64, duration time.Duration, v drbd.Version) {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "rvol-chaos-") //nolint:usetesting // in memory: a test's own folder is on a disk
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	path := filepath.Join(t.ArtifactDir(), "chaos.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // a log for people
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	synctest.Test(t, func(t *testing.T) {
		table, err := chaos.Run(t.Context(), chaos.Config{
			Seed: seed, Duration: duration, DRBD: v, Three: os.Getenv("RVOL_CHAOS_THREE") != "", Dir: dir, LogFile: path, Log: logger, Say: t.Logf,
		})
		t.Logf("seed %d\n%s", seed, table)
		if err != nil {
			t.Errorf("%v\nplay it again: make chaos SEED=%d DURATION=%s DRBD=%d.%d; the log is in %s", err, seed, duration, v.Kernel.Major, v.Kernel.Minor, path)
		}
	})
}

// memory is a folder in memory, where the machine has such a place.
func memory() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return ""
}
