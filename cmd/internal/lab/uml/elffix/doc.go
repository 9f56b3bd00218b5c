// Package elffix makes a program that was linked against a newer glibc run on an older one, when all it needs
// of the newer one are the C23 twins of strtol and its kin.
//
// glibc 2.38 gave those functions a second name (__isoc23_strtol). A dynamic symbol's name is pointed at the suffix of the
// same string, its version at the oldest one, and the requirement of the newer glibc becomes a second
// requirement of an older one. Nothing moves in the file.
package elffix
