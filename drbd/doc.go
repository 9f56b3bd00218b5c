// Package drbd is the language of drbdadm, drbdsetup and drbdmeta: their
// words, their command lines, what they print, and the .res files they read.
//
// Its rule: it runs nothing and reads no file. A [Tool] is given a [Runner]
// and says what to run; everything else here is a pure function.
//
// It speaks DRBD 8.4 and DRBD 9. The two differ in syntax and in what they
// can do; callers see one set of methods and one model, [Resource], and
// every difference that shows is said where it shows.
//
// A secret never leaves this package except inside the text of
// [Config.Render]: it is in no command line, no error and no String.
package drbd
