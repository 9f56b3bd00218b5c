// Package storagetest holds the suite of behaviours that every storage.Backend
// must show, on simulated LVM and on real LVM alike.
package storagetest
