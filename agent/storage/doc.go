// Package storage keeps the backing devices of replicas: one interface over
// thick LVM volumes and thin ones.
//
// Its rule: a device is removed or changed only when name, UUID and tags are
// those of the order, and never two commands change one volume group at once.
// What is missing from a volume group that cannot be seen is not gone.
package storage
