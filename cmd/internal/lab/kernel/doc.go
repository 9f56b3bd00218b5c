// Package kernel is the world of real kernels: each node is a User Mode Linux process with systemd, LVM and DRBD,
// all on one user-space switch, run by an ordinary user.
//
// Its tests boot nodes and therefore need the build tag kernellab; a lab that cannot start fails them.
package kernel
