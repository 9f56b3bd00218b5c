package drbdtest_test

import (
	"testing"
	"testing/synctest"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestSimulationOfDRBD84(t *testing.T) { suite(t, drbdtest.V84) }

func TestSimulationOfDRBD9(t *testing.T) { suite(t, drbdtest.V9) }

func suite(t *testing.T, v drbd.Version) {
	t.Helper()
	drbdtest.Suite(t, func(t *testing.T, behaviour func(*testing.T, drbdtest.World)) {
		synctest.Test(t, func(t *testing.T) { behaviour(t, drbdtest.Simulated(t, v)) })
	})
}
