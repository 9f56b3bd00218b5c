package host

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Users tells who uses a block device of the machine whose root is given: mounts, swap,
// devices on top of it and processes that have it open. It tells what it can find; a user
// inside the kernel may remain without a name.
func Users(root, device string) []string {
	u := users{root: root, device: device, name: filepath.Base(device)}
	if number, err := os.ReadFile(filepath.Join(root, "sys/block", u.name, "dev")); err == nil {
		u.number = strings.TrimSpace(string(number))
	}
	var who []string
	who = append(who, u.mounts()...)
	who = append(who, u.swap()...)
	who = append(who, u.holders()...)
	return append(who, u.processes()...)
}

// users is one device whose users are looked for.
type users struct{ root, device, name, number string }

func (u users) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(u.root, pattern)) // the pattern is good
	return found
}

// mounts looks into every mount namespace once.
func (u users) mounts() []string {
	var who []string
	seen := map[string]bool{}
	for _, process := range u.glob("proc/[0-9]*") {
		space, err := os.Readlink(filepath.Join(process, "ns/mnt"))
		if err == nil && seen[space] {
			continue
		}
		seen[space] = true
		for _, at := range u.mountedIn(filepath.Join(process, "mountinfo")) {
			if text := "mounted on " + at; !slices.Contains(who, text) {
				who = append(who, text)
			}
		}
	}
	return who
}

// mountedIn reads lines like `36 35 147:10000 / /mnt rw ... - ext4 /dev/drbd10000 rw`.
func (u users) mountedIn(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil // it ended meanwhile
	}
	defer func() { _ = f.Close() }() // it is only read
	var at []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		mount, source, ok := strings.Cut(lines.Text(), " - ")
		words, from := strings.Fields(mount), strings.Fields(source)
		if ok && len(words) > 4 && len(from) > 1 && (words[2] == u.number || u.is(from[1])) {
			at = append(at, words[4])
		}
	}
	return at
}

// is says that a path is the device, or leads to it.
func (u users) is(path string) bool {
	if path == u.device || !strings.HasPrefix(path, "/dev/") {
		return path == u.device
	}
	wanted := deviceOf(filepath.Join(u.root, u.device))
	return wanted != 0 && deviceOf(filepath.Join(u.root, path)) == wanted
}

func (u users) swap() []string {
	text, err := os.ReadFile(filepath.Join(u.root, "proc/swaps"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, u.device+" ") || strings.HasPrefix(line, u.device+"\t") {
			return []string{"used as swap"}
		}
	}
	return nil
}

// holders are devices that stand on this one, and loops over it.
func (u users) holders() []string {
	var who []string
	for _, path := range u.glob("sys/block/" + u.name + "/holders/*") {
		name := filepath.Base(path)
		if mapped, err := os.ReadFile(filepath.Join(u.root, "sys/block", name, "dm/name")); err == nil {
			name = "/dev/mapper/" + strings.TrimSpace(string(mapped))
		}
		who = append(who, "under "+name)
	}
	for _, path := range u.glob("sys/block/loop*/loop/backing_file") {
		if file, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(file)) == u.device {
			who = append(who, "under "+filepath.Base(filepath.Dir(filepath.Dir(path))))
		}
	}
	return who
}

func (u users) processes() []string {
	var who []string
	wanted := deviceOf(filepath.Join(u.root, u.device))
	for _, fd := range u.glob("proc/[0-9]*/fd/*") {
		to, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(to, "/dev/") || to != u.device && (wanted == 0 || deviceOf(fd) != wanted) {
			continue
		}
		process := filepath.Dir(filepath.Dir(fd))
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil {
			continue
		}
		text := fmt.Sprintf("open in %s (pid %s)", strings.TrimSpace(string(name)), filepath.Base(process))
		if !slices.Contains(who, text) {
			who = append(who, text)
		}
	}
	return who
}

// deviceOf is the number of the device file at path; 0: it is none.
func deviceOf(path string) uint64 {
	st, err := os.Stat(path)
	if err != nil || st.Mode()&os.ModeDevice == 0 {
		return 0
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return sys.Rdev
}
