// Package image gets what a node boots from: a kernel, a root file system image, and the layer with the programs under test.
//
// Everything lies in a cache and is named by what it was made of, so that an image never changes under a node that uses it, and the
// second run has nothing to do. All of it works as an ordinary user: mmdebstrap makes the root file system in a user namespace or with
// fakechroot, fakeroot keeps the owners of files, mke2fs fills the images. Nothing is mounted.
package image
