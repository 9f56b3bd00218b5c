package uml

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const sharedMemory = "/dev/shm"

// memoryVariables are where the kernel looks for a place for its memory, in its order.
var memoryVariables = [...]string{"TMPDIR", "TMP", "TEMP"}

// CheckMemory says whether the tmpfs that will hold the nodes' memory has room for all of it. A node that touches memory the
// tmpfs has no room for dies at once.
func CheckMemory(nodes int, each int64) error {
	dir := memoryDir(os.Getenv)
	free, ok := tmpfsFree(dir)
	if !ok {
		return fmt.Errorf("check the memory for nodes: %s is not a tmpfs: mount one, or name one in TMPDIR", dir)
	}
	if want := int64(nodes) * each; free < want {
		return fmt.Errorf("check the memory for nodes: %s has %d MiB free, %d nodes of %d MiB may need %d MiB: "+
			"name a larger tmpfs in TMPDIR, or take fewer nodes or a smaller --memory",
			dir, free>>20, nodes, each>>20, want>>20)
	}
	return nil
}

func memoryDir(getenv func(string) string) string {
	for _, name := range memoryVariables {
		if dir := getenv(name); dir != "" {
			if _, ok := tmpfsFree(dir); ok {
				return dir
			}
		}
	}
	return sharedMemory
}

func tmpfsFree(dir string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Type != unix.TMPFS_MAGIC {
		return 0, false
	}
	return int64(s.Bavail) * s.Bsize, true
}

// environment makes the kernel put its memory where memoryDir says: a TMPDIR on a disk would make it slow.
func environment(env []string) []string {
	dir := memoryDir(os.Getenv)
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if name != "TMPDIR" && name != "TMP" && name != "TEMP" {
			out = append(out, kv)
		}
	}
	return append(out, "TMPDIR="+dir)
}
