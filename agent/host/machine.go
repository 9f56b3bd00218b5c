package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A Machine is who this machine says it is.
type Machine struct {
	HostName  string
	MachineID string // of /etc/machine-id: stays over reboots
	BootID    string // new at each boot
	Kernel    string // release, as of uname -r
}

// ReadMachine asks the kernel, and the files below root, which is "/".
func ReadMachine(root string) (Machine, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Machine{}, fmt.Errorf("read the host name: %w", err)
	}
	boot, err := readID(filepath.Join(root, "proc/sys/kernel/random/boot_id"))
	if err != nil {
		return Machine{}, err
	}
	machine, err := readID(filepath.Join(root, "etc/machine-id"))
	if err != nil {
		return Machine{}, err
	}
	return Machine{
		HostName:  unix.ByteSliceToString(u.Nodename[:]),
		MachineID: machine,
		BootID:    boot,
		Kernel:    unix.ByteSliceToString(u.Release[:]),
	}, nil
}

// readID reads 128 bits of hexadecimal digits, with or without hyphens.
func readID(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read an identity: %w", err)
	}
	id := strings.TrimSpace(string(b))
	if digits := strings.ReplaceAll(id, "-", ""); len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("read an identity: %s holds %q", path, id)
	}
	return id, nil
}
