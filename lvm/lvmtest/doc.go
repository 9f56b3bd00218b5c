// Package lvmtest simulates the LVM of one machine, and holds the suite of
// behaviours that the simulation and real LVM must share.
//
// Machine.Run fits lvm.Runner. It understands the command lines that package
// lvm builds and no others, and answers in the words of LVM 2.03.16. Disks are
// sparse memory below the logical volumes: a new thick volume shows what was
// written to its extents before, a thin one reads zeros.
package lvmtest
