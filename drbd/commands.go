package drbd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Command is one command line that drbdadm would run.
type Command struct {
	Tool string   // drbdsetup or drbdmeta
	Verb string   // attach, new-peer ...
	Args []string // the others, without secrets
}

// String gives the command line, without secrets.
func (c Command) String() string {
	return strings.Join(append([]string{c.Tool, c.Verb}, c.Args...), " ")
}

// ParseCommands reads what drbdadm -d prints: one command line per line,
// with the tool by any path and drbdsetup-84 for DRBD 8.4's, and signs that
// a shell would read escaped: ipv6:\[fd00::1\]:7000.
func ParseCommands(out []byte) ([]Command, error) {
	var all []Command
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		c, ok := parseCommand(strings.Fields(strings.ReplaceAll(redact(line), `\`, "")))
		if !ok {
			return nil, garbage("parse drbdadm -d", []byte(line))
		}
		all = append(all, c)
	}
	return all, nil
}

func parseCommand(words []string) (Command, bool) {
	if len(words) < 2 {
		return Command{}, false
	}
	tool := words[0][strings.LastIndex(words[0], "/")+1:]
	switch strings.TrimSuffix(tool, "-84") {
	case "drbdsetup":
		return Command{Tool: "drbdsetup", Verb: words[1], Args: words[2:]}, true
	case "drbdmeta":
		return parseMetaCommand(words[1:])
	}
	return Command{}, false
}

// parseMetaCommand reads MINOR FORMAT DISK INDEX VERB ARGS.
func parseMetaCommand(words []string) (Command, bool) {
	const verb = 4
	if len(words) <= verb {
		return Command{}, false
	}
	args := append(append([]string{}, words[:verb]...), words[verb+1:]...)
	return Command{Tool: "drbdmeta", Verb: words[verb], Args: args}, true
}

// harmless are the verbs of adjust that add or tune and take nothing away.
// disconnect and del-path are there for a changed address: adjust connects
// again.
var harmless = map[string]bool{
	"new-resource": true, "new-minor": true, "new-peer": true, "new-path": true,
	"apply-al": true, "attach": true, "connect": true, "disconnect": true, "del-path": true,
	"resource-options": true, "disk-options": true, "net-options": true,
	"peer-device-options": true, "device-options": true, "check-resize": true,
}

// Loss says what a command would take from a running resource; "" for one
// that only adds or tunes. A verb it does not know is a loss. sizes are the
// present sizes of the devices, in bytes.
func (c Command) Loss(sizes map[Minor]int64) string {
	switch {
	case c.Verb == "resize":
		return c.shrinks(sizes)
	case harmless[c.Verb]:
		return ""
	case c.Verb == "del-peer":
		return "removes a peer"
	case c.Verb == "detach":
		return "takes the disk from a device"
	case c.Verb == "down" || c.Verb == "del-minor" || c.Verb == "del-resource":
		return "takes a device down"
	}
	return "unknown command " + c.Verb
}

// Grows says that a command lets a device have what its disks hold. Adjust of DRBD 8.4 would do so to one whose size is held.
func (c Command) Grows() bool {
	if c.Verb == "check-resize" {
		return true
	}
	return c.Verb == "resize" && !slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--size") })
}

func (c Command) shrinks(sizes map[Minor]int64) string {
	var minor Minor = -1
	for _, arg := range c.Args {
		if n, err := strconv.Atoi(arg); err == nil {
			minor = Minor(n)
		}
	}
	for _, arg := range c.Args {
		value, ok := strings.CutPrefix(arg, "--size=")
		if !ok {
			continue
		}
		now, known := sizes[minor]
		to, err := parseUnit(value)
		switch {
		case err != nil || !known:
			return "sets a size: " + arg
		case to < now:
			return fmt.Sprintf("shrinks a device from %d to %d bytes", now, to)
		}
	}
	return ""
}

// parseUnit reads a size as drbdsetup does: a number of KiB, or with one of
// the suffixes s (sectors), K, M, G, T, P.
func parseUnit(s string) (int64, error) {
	unit := int64(1024)
	if s != "" {
		switch s[len(s)-1] {
		case 's', 'S':
			unit = 512
		case 'k', 'K':
			unit = 1 << 10
		case 'm', 'M':
			unit = 1 << 20
		case 'g', 'G':
			unit = 1 << 30
		case 't', 'T':
			unit = 1 << 40
		case 'p', 'P':
			unit = 1 << 50
		default:
			return parseSize(s, unit)
		}
		s = s[:len(s)-1]
	}
	return parseSize(s, unit)
}
