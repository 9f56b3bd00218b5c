// Package drbdtest is a simulated DRBD: several nodes with their kernels and
// disks on one [Fabric], and the [Suite] of behaviours that holds for it and
// for real nodes alike.
//
// Its rule: it answers the command lines that package drbd makes, and no
// others, in the words of the version each node has. Where it is wrong about
// the kernel, the suite gets a case that fails first.
//
// All waiting is on timers of package time, so that it runs in a
// testing/synctest bubble; nothing of it outlives [Fabric.Close].
//
//	f := drbdtest.NewFabric()
//	defer f.Close()
//	a := f.AddNode(drbdtest.NodeConfig{Name: "a", Version: drbdtest.V9, ReadFile: os.ReadFile})
//	tool := drbd.New(a.Run, drbdtest.V9)
package drbdtest
