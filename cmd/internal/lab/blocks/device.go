package blocks

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Open opens a device past the page cache; writes return when they are stable.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_DIRECT|syscall.O_DSYNC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the device: %w", err)
	}
	return f, nil
}

// aligned is a block in memory that devices can take as it is.
func aligned() []byte {
	b := make([]byte, 2*Size)
	off := (Size - int(uintptr(unsafe.Pointer(&b[0]))%Size)) % Size
	return b[off : off+Size]
}
