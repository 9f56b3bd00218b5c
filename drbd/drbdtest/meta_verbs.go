package drbdtest

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"rvol/drbd"
)

const noMetaData = "No valid meta data found"

// drbdmeta is MINOR FORMAT DISK internal VERB ARGS.
func (n *Node) drbdmeta(args []string) (string, error) {
	a := parseArguments(args)
	format, path, verb := a.word(1), a.word(2), a.word(4)
	want := "v09"
	if n.version.Is84() {
		want = "v08"
	}
	if a.word(3) != "internal" || format != want {
		return "", usage(verb)
	}
	minor := drbd.Minor(a.number(0))
	if d := n.device(minor); d != nil && d.md != nil {
		if verb == "dump-md" {
			return "Operation canceled.\n", nil
		}
		return "", refuse(20, "Device '%d' is configured!", minor)
	}
	disk, err := n.disks.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse(20, "open(%s) failed: No such file or directory", path)
	case err != nil:
		return "", refuse(20, "open(%s) failed: %v", path, err)
	}
	defer func() { _ = disk.Close() }()
	if verb == "create-md" {
		return n.createMD(disk, minor, format, a)
	}
	if verb == "apply-al" || verb == "check-resize" {
		return n.moveMD(disk, minor)
	}
	return withMetadata(disk, verb, a)
}

func (n *Node) createMD(disk Disk, minor drbd.Minor, format string, a arguments) (string, error) {
	slots := 1
	if format == "v09" {
		slots = a.number(5)
	}
	if slots < 1 || a.options["force"] == "" {
		return "Operation cancelled.\n", refuse(1, "")
	}
	md := freshMetadata(format, slots)
	if md.usable(disk.Size()) <= 0 {
		return "", refuse(40, "Device size would be truncated, too small")
	}
	if err := md.save(disk, disk.Size()); err != nil {
		return "", refuse(10, "pwrite(%d) failed: Input/output error", minor)
	}
	n.lkbd[minor] = disk.Size()
	return "initializing activity log\nWriting meta data...\nNew drbd meta data block successfully created.\n", nil
}

// moveMD moves the metadata of a disk that grew while it was not attached.
func (n *Node) moveMD(disk Disk, minor drbd.Minor) (string, error) {
	_, err := loadMetadata(disk, disk.Size())
	if err == nil {
		return "", nil
	}
	if !errors.Is(err, errNoMetadata) {
		return "", ioError()
	}
	old := n.lkbd[minor]
	if old == 0 || old >= disk.Size() {
		return "", refuse(1, noMetaData)
	}
	md, err := loadMetadata(disk, old)
	if err != nil {
		return "", refuse(1, noMetaData)
	}
	if err := errors.Join(wipeMetadata(disk, old), md.save(disk, disk.Size())); err != nil {
		return "", ioError()
	}
	n.lkbd[minor] = disk.Size()
	return "Internal drbd meta data successfully moved.\n", nil
}

func ioError() error {
	return refuse(10, "pread(5,...,4096,0) in md_disk_to_cpu failed: Input/output error")
}

// withMetadata is the commands that need metadata to be there.
func withMetadata(disk Disk, verb string, a arguments) (string, error) {
	md, err := loadMetadata(disk, disk.Size())
	switch {
	case errors.Is(err, errNoMetadata) && strings.HasSuffix(verb, "-dev-uuid"):
		return "", refuse(1, "")
	case errors.Is(err, errNoMetadata):
		return "", refuse(1, noMetaData)
	case err != nil:
		return "", ioError()
	}
	switch verb {
	case "dump-md":
		return md.dump(), nil
	case "wipe-md":
		if err := wipeMetadata(disk, disk.Size()); err != nil {
			return "", ioError()
		}
		return "Wiping meta data...\nDRBD meta data block successfully wiped out.\n", nil
	case "read-dev-uuid":
		return md.Device.String() + "\n", nil
	case "write-dev-uuid":
		u, err := strconv.ParseUint(a.word(5), 16, 64)
		if err != nil {
			return "", refuse(10, "Required Argument missing")
		}
		md.Device = drbd.UUID(u)
		if err := md.save(disk, disk.Size()); err != nil {
			return "", ioError()
		}
		return "", nil
	}
	return "", usage(verb)
}

// dump prints what dump-md prints, as far as it is read.
func (m *metadata) dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# DRBD meta data dump\n#\n\nversion %q;\n\n", m.Format)
	if m.Format == "v08" {
		fmt.Fprintf(&b, "uuid {\n    0x%s; 0x%016X; 0x%016X; 0x%016X;\n    flags 0x00000000;\n}\n", m.Current, 0, 0, 0)
	} else {
		fmt.Fprintf(&b, "max-peers %d;\nnode-id -1;\ncurrent-uuid 0x%s;\nflags 0x00000080;\n", m.Slots, m.Current)
	}
	fmt.Fprintf(&b, "la-size-sect %d;\nbm-byte-per-bit 4096;\ndevice-uuid 0x%s;\n", m.Size/512, m.Device)
	return b.String()
}
