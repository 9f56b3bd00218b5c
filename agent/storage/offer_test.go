package storage_test

import (
	"errors"
	"strings"
	"testing"

	"rvol/agent/storage"
	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

func TestGroupIsMadeOfAnEmptyDiskOnly(t *testing.T) {
	m := lvmtest.New(1)
	m.AddDisk("/dev/sdb", diskSize)
	dev, err := m.Open("/dev/sdb")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dev.WriteAt([]byte("XFSB"), 0); err != nil {
		t.Fatal(err)
	}
	_ = dev.Close()
	err = storage.MakeGroup(t.Context(), lvm.New(m.Run), storage.NewLocks(),
		storage.Offer{Device: "/dev/sdb", VG: "vg0", Tags: []string{"a"}})
	want := "/dev/sdb is not empty: xfs at 0x0; if nobody needs that, run: wipefs --all /dev/sdb"
	if !errors.Is(err, lvm.ErrSignature) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if got := commands(m, "vgcreate"); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

func TestGroupOfSomebodyElseIsLeftAlone(t *testing.T) {
	tests := []struct {
		name  string
		offer storage.Offer
		want  error
	}{
		{"the name is taken", storage.Offer{Device: "/dev/sdc", VG: "vg0", Tags: []string{"rvol.lvg=l2"}}, lvm.ErrExists},
		{"the disk is taken", storage.Offer{Device: "/dev/sdb", VG: "vg1", Tags: []string{"rvol.lvg=l2"}}, lvm.ErrSignature},
		{"the disk is not there", storage.Offer{Device: "/dev/sdz", VG: "vg1", Tags: []string{"rvol.lvg=l2"}}, lvm.ErrNotFound},
		{"the offer has no tags", storage.Offer{Device: "/dev/sdc", VG: "vg1"}, lvm.ErrBadArgument},
		{"a volume has the name of the pool", storage.Offer{Device: "/dev/sdb", VG: "vg0", Pool: "data", Tags: []string{"rvol.lvg=l1"}}, lvm.ErrExists},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, c := machine(t, "")
			m.AddDisk("/dev/sdc", diskSize)
			if err := m.AddForeign("vg0", "data", 4<<20); err != nil {
				t.Fatal(err)
			}
			before := len(commands(m, "vgcreate")) + len(commands(m, "lvcreate"))
			err := storage.MakeGroup(t.Context(), c.Tool, c.Locks, tt.offer)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if after := len(commands(m, "vgcreate")) + len(commands(m, "lvcreate")); after != before {
				t.Error("something was made")
			}
		})
	}
}
