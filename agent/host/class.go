package host

import (
	"slices"
	"time"
)

// A Class says how a command is treated.
type Class string

// The classes of commands.
const (
	Look   Class = "look"   // reads only; killed at its deadline
	Act    Class = "act"    // changes something and may be killed
	Long   Class = "long"   // writes a whole device; may be killed
	Change Class = "change" // changes LVM; never killed: it may hold devices suspended
)

var defaultDeadlines = map[Class]time.Duration{
	Look:   20 * time.Second,
	Act:    60 * time.Second,
	Long:   24 * time.Hour,
	Change: 2 * time.Minute,
}

var (
	changing = []string{
		"lvchange", "lvcreate", "lvextend", "lvremove", "lvrename",
		"pvcreate", "vgchange", "vgcreate", "vgextend",
	}
	looking = []string{"lvm", "lvs", "pvs", "vgs", "wipefs", "blkid", "journalctl", "dmsetup"}
	// status, events2 and the like of drbdsetup, dump and sh-* of drbdadm.
	lookingVerbs = []string{"status", "show", "events2", "role", "cstate", "dstate", "dump", "sh-nop", "--version"}
)

// ClassOf says how a command is treated.
func ClassOf(argv []string) Class {
	switch {
	case slices.Contains(changing, argv[0]):
		return Change
	case argv[0] == "blkdiscard":
		return Long
	case slices.Contains(looking, argv[0]):
		return Look
	case len(argv) > 1 && slices.Contains(lookingVerbs, argv[1]):
		return Look
	default:
		return Act
	}
}

func (h *Host) deadline(c Class) time.Duration {
	if d, ok := h.deadlines[c]; ok {
		return d
	}
	return Deadline(c)
}

// Deadline is how long a command of a class may take.
func Deadline(c Class) time.Duration { return defaultDeadlines[c] }
