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

// brief is how long things go wrong where nobody says how long: the least in which every
// kind of fault strikes.
const brief = 4 * time.Minute

// TestPromisesHoldInChaos plays a brief run with fixed seeds on each version of DRBD.
// RVOL_CHAOS_DURATION asks for one run of that length instead, with RVOL_CHAOS_SEED or a
// fresh seed, on DRBD 9 or as RVOL_CHAOS_DRBD says.
func TestPromisesHoldInChaos(t *testing.T) {
	t.Parallel()
	duration, err := time.ParseDuration(os.Getenv("RVOL_CHAOS_DURATION"))
	if err != nil {
		for name, v := range map[string]drbd.Version{"DRBD 9": drbdtest.V9, "DRBD 8.4": drbdtest.V84} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(t, 1, brief, v)
			})
		}
		return
	}
	seed, err := strconv.ParseUint(os.Getenv("RVOL_CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64N(1_000_000)
	}
	version := drbdtest.V9
	if os.Getenv("RVOL_CHAOS_DRBD") == "8.4" {
		version = drbdtest.V84
	}
	play(t, seed, duration, version)
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
			Seed: seed, Duration: duration, DRBD: v, Dir: dir, LogFile: path, Log: logger, Say: t.Logf,
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
