// Package storageclass works out what stands of a storage class: its pool, the configuration in force, how many of its
// volumes follow it, and whose turn it is to change (seed 002).
//
// Rule: a configuration comes into force only when the eligible nodes can hold it; until then the one before it stays.
// What is not known is not counted.
package storageclass
