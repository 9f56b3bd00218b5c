package lvmtest

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// toolVersion is what the tools say that are simulated.
const toolVersion = "  LVM version:     2.03.16(2) (2022-05-18)\n  Library version: 1.02.185 (2022-05-18)\n  Driver version:  4.50.0\n"

// lvmconfig shows a machine whose administrator has hidden DRBD's devices.
func (m *Machine) lvmconfig(a args) (string, *refusal) {
	if r := a.only("--typeconfig"); r != nil {
		return "", r
	}
	return "devices {\n\tuse_devicesfile=0\n\tfilter=[\"a|.*|\"]\n\tglobal_filter=[\"r|^/dev/drbd|\",\"r|^/dev/rvol/|\"]\n\tscan_lvs=0\n}\n", nil
}

// A signature is something that blkid would recognise.
type signature struct {
	kind   string
	offset int64 // bytes; below 0: from the end, rounded down to 4 KiB
	magic  string
}

// magics are the signatures that the simulation knows.
var magics = []signature{
	{"ext4", 0x438, "\x53\xef"},
	{"xfs", 0, "XFSB"},
	{"dos", 0x1fe, "\x55\xaa"},
	{"drbd", -4096 + 0x3c, "\x83\x74\x02\x6b"}, // metadata v08
	{"drbd", -4096, "drbdtest"},                // that of simulated DRBD
}

// recognise finds the signatures on what is size bytes large.
func recognise(size int64, read func(p []byte, off int64)) []signature {
	var found []signature
	for _, s := range magics {
		if s.offset < 0 {
			s.offset += size &^ 4095
		}
		b := make([]byte, len(s.magic))
		read(b, s.offset)
		if string(b) == s.magic {
			found = append(found, s)
		}
	}
	return found
}

func (d *disk) signatures() []signature {
	if d.uuid != "" {
		return []signature{{kind: "LVM2_member", offset: 0x218}}
	}
	return recognise(d.size, d.data.read)
}

func (v *volume) signatures() []signature { return recognise(v.size(), v.read) }

// read reads for those who hold the lock.
func (v *volume) read(p []byte, off int64) {
	if at := v.locate(off); at.data != nil {
		at.data.read(p, at.off)
	}
}

// wipeStart is --wipesignatures y --zero y: no signature is left, nor anything
// in the first 4 KiB. All else is as the last owner left it.
func (v *volume) wipeStart() {
	for _, s := range append(v.signatures(), signature{magic: string(make([]byte, pageSize))}) {
		at := v.locate(s.offset)
		at.data.write(make([]byte, len(s.magic)), at.off)
	}
}

func (m *Machine) wipefs(a args) (string, *refusal) {
	if r := a.only("--json"); r != nil {
		return "", r
	}
	name := a.names[0]
	var found []signature
	uuid := "null"
	if d := m.disk(name); d != nil {
		found = d.signatures()
		if d.uuid != "" {
			uuid = fmt.Sprintf("%q", d.uuid)
		}
	} else if v := m.volumeAt(name); v != nil && v.active && v.kind != thinPool {
		found = v.signatures()
	} else {
		return "", &refusal{1, fmt.Sprintf("wipefs: error: %s: probing initialization failed: No such file or directory\n", name)}
	}
	var rows []string
	for _, s := range found {
		rows = append(rows, fmt.Sprintf("      {\n         \"device\": %q,\n         \"offset\": \"0x%x\",\n         \"type\": %q,\n"+
			"         \"uuid\": %s,\n         \"label\": null\n      }", path.Base(name), s.offset, s.kind, uuid))
	}
	return "{\n   \"signatures\": [\n" + strings.Join(rows, ",") + "\n   ]\n}\n", nil
}

func (m *Machine) blkdiscard(a args) (string, *refusal) {
	if r := a.only("--zeroout", "--force", "--offset", "--length"); r != nil {
		return "", r
	}
	name := a.names[0]
	v := m.volumeAt(name)
	switch {
	case v == nil || !v.active:
		return "", &refusal{1, fmt.Sprintf("blkdiscard: cannot open %s: No such file or directory\n", name)}
	case v.exclusive > 0 && !a.has("--force"):
		return "", &refusal{1, fmt.Sprintf("blkdiscard: cannot open %s: Device or resource busy\n", name)}
	}
	if a.has("--offset") {
		return v.zeroRange(a)
	}
	if v.kind == thin {
		v.chunks = chunks{}
		return "", nil
	}
	for _, s := range v.segments {
		if s.disk.rotates && !a.has("--zeroout") {
			return "", &refusal{1, fmt.Sprintf("blkdiscard: %s: BLKDISCARD ioctl failed: Operation not supported\n", name)}
		}
		s.disk.data.forget(dataStart+s.start*extentSize, s.count*extentSize)
	}
	return "", nil
}

// zeroRange writes zeros over a part. A thin volume takes room for them: device mapper's thin
// target knows no shorter way to write zeros.
func (v *volume) zeroRange(a args) (string, *refusal) {
	off, err := strconv.ParseInt(a.value("--offset"), 10, 64)
	n, err2 := strconv.ParseInt(a.value("--length"), 10, 64)
	if err != nil || err2 != nil || off < 0 || n <= 0 || off+n > v.size() {
		return "", &refusal{1, fmt.Sprintf("blkdiscard: %s: offset is greater than device size %d\n", a.names[0], v.size())}
	}
	for end := off + n; off < end; {
		at := v.locate(off)
		part := min(end-off, at.room)
		if at.data == nil {
			if _, err := v.provision(at.chunk); err != nil {
				return "", &refusal{1, fmt.Sprintf("blkdiscard: %s: BLKZEROOUT ioctl failed: No space left on device\n", a.names[0])}
			}
		} else {
			at.data.forget(at.off, part)
		}
		off += part
	}
	return "", nil
}
