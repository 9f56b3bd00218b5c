package lvmtest

import (
	"testing"
)

// simulated is a World made of a Machine.
type simulated struct{ *Machine }

func (s simulated) Disk(*testing.T) string {
	s.AddDisk("/dev/sdb", DiskSize)
	return "/dev/sdb"
}

func (s simulated) Open(path string) (BlockDevice, error) { return s.Machine.Open(path) }

func TestSuiteOnTheSimulation(t *testing.T) {
	Suite(t, func(*testing.T) World { return simulated{New(1)} })
}
