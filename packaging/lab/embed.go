package lab

import "embed"

// Files are the files of this folder: node/ is laid over the root file system, the scripts make images.
//
//go:embed node mkimage.sh mklayer.sh masked-units kept-modules packages
var Files embed.FS
