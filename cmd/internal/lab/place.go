package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// RunDir is where sockets and logs of the lab of that name live. A unix socket's path ends at 107 characters,
// so it is short.
func RunDir(name string) string {
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		return filepath.Join(d, "rvol-lab", name)
	}
	return filepath.Join("/tmp", "rvol-lab-"+strconv.Itoa(os.Getuid()), name)
}

// CacheDir is where packages, images and the nodes' disks live: big files, which a tmpfs cannot hold.
func CacheDir() (string, error) {
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(d, "rvol", "lab"), nil
}

// NodeName is the name of the i-th node, from 1.
func NodeName(i int) string { return "n" + strconv.Itoa(i) }

// Address is the address of the i-th node on a network, both from 1.
func Address(network, i int) string { return fmt.Sprintf("10.%d.0.%d", 76+network, i) }
