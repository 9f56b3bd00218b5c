// Package arch holds the shape of the code: which floor a package is on, what it may
// import, that each says what it is for, and how long a file may get.
//
// It has tests only. The table of floors is data; ARCHITECTURE.md shows it as a picture.
package arch
