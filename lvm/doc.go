// Package lvm speaks the language of the LVM tools: it builds their command
// lines, reads their reports and names their refusals.
//
// It runs nothing itself: every command goes through the Runner handed to New.
// A report is either whole or an error; a row that is missing a column, or a
// volume group with fewer rows than it counts, is never passed on.
package lvm
