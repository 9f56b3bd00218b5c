package lvm_test

import (
	"context"
	"errors"
	"fmt"

	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

func Example() {
	ctx := context.Background()
	machine := lvmtest.New(1)
	machine.AddDisk("/dev/sdb", 512<<20)
	tool := lvm.New(machine.Run)

	name := lvm.Name{Volume: "db", Device: 0, Replica: 1}
	_ = tool.VGCreate(ctx, "vg0", "/dev/sdb")
	_ = tool.LVCreate(ctx, lvm.LVSpec{VG: "vg0", Name: name.String(), Size: 10 << 20, Tags: []string{"rvol.cluster=c1"}})

	report, _ := tool.Report(ctx)
	for _, lv := range report.LVs {
		fmt.Println(lv.Path, lv.Size, lv.Tags)
	}
	// Output: /dev/vg0/rvol-db.0.1 12582912 [rvol.cluster=c1]
}

func ExampleError() {
	ctx := context.Background()
	machine := lvmtest.New(1)
	machine.AddDisk("/dev/sdb", 512<<20)
	tool := lvm.New(machine.Run)
	_ = tool.VGCreate(ctx, "vg0", "/dev/sdb")

	err := tool.LVCreate(ctx, lvm.LVSpec{VG: "vg0", Name: "rvol-db.0.1", Size: 1 << 40})
	if refused, ok := errors.AsType[*lvm.Error](err); ok && errors.Is(err, lvm.ErrNoSpace) {
		fmt.Printf("%d extents needed, %d free\n", refused.Needed, refused.Free)
	}
	// Output: 262144 extents needed, 127 free
}
