package lab

import "embed"

// Files are those that images are made of: node/ is laid over the root file system, the scripts make images.
//
//go:embed node mkimage.sh mklayer.sh masked-units kept-modules packages
var Files embed.FS

// Scripts run on machines that are there, in the kernel lab and on Vagrant's.
//
//go:embed provision.sh reset.sh
var Scripts embed.FS
