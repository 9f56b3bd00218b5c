package drbd

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// What a refusal means. Test with errors.Is. The cases cited below by version
// and number are in testdata.
var (
	ErrToolMissing      = errors.New("not installed: install drbd-utils")
	ErrNoModule         = errors.New("DRBD kernel module is not loaded")
	ErrUsage            = errors.New("command not known to this version")
	ErrConfig           = errors.New("configuration file cannot be read")
	ErrNotDefined       = errors.New("resource not defined in its file for this host")
	ErrNoAddress        = errors.New("address of the resource is not on this host")
	ErrUnknownResource  = errors.New("resource is not up")
	ErrUnknownMinor     = errors.New("minor is not up")
	ErrAlreadyUp        = errors.New("minor or volume exists already")
	ErrStillUp          = errors.New("minor is still in use")
	ErrNoMetadata       = errors.New("no valid metadata on the disk")
	ErrUncleanMetadata  = errors.New("activity log of the metadata is not applied")
	ErrDiskIO           = errors.New("I/O error on the disk")
	ErrNoDisk           = errors.New("disk does not exist")
	ErrTooSmall         = errors.New("disk is too small")
	ErrAlreadyAttached  = errors.New("device is attached to a disk")
	ErrAlreadyConnected = errors.New("connection is up or being made")
	ErrNoConnection     = errors.New("no such connection, or it is not connected")
	ErrAddressInUse     = errors.New("pair of addresses is in use")
	ErrHeldOpen         = errors.New("device is held open")
	ErrOtherPrimary     = errors.New("another node is Primary")
	ErrNoQuorum         = errors.New("no quorum")
	ErrNoUpToDate       = errors.New("no UpToDate data within reach")
	ErrNotFenced        = errors.New("the peer is not reached, and not known to be outdated")
	ErrNotFresh         = errors.New("connected and not just created")
	ErrTransient        = errors.New("the connection is about to change: try again")
	ErrResync           = errors.New("not while a resync or verify runs")
	ErrNoPrimary        = errors.New("DRBD grows a device only while it is in use: attach the volume to a node")
	ErrAlreadyPaused    = errors.New("resyncs are paused already, or go on already")
	ErrGarbage          = errors.New("tool printed what cannot be read")
)

// An Error is a tool's refusal: what was run, what it said, what it means.
// Neither shows a secret.
type Error struct {
	Argv []string
	Code int    // exit code
	Text string // standard error, on one line
	Kind error  // one of the Err values, or nil when the text is not known
}

// Error says what was run and why it was refused.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: exit status %d", strings.Join(e.Argv, " "), e.Code)
	if e.Kind != nil {
		s += ": " + e.Kind.Error()
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Unwrap gives the meaning.
func (e *Error) Unwrap() error { return e.Kind }

// exitError is what a Runner's refusal can tell.
type exitError interface {
	error
	ExitCode() int
	Stderr() []byte
}

// failure turns what a Runner returned into what this package returns. The
// Runner's own text is dropped where the tool spoke: drbdadm repeats whole
// command lines of drbdsetup, with the secret in them.
func failure(argv []string, err error) error {
	refusal, ok := errors.AsType[exitError](err)
	switch {
	case ok:
		text := redact(string(refusal.Stderr()))
		return &Error{Argv: argv, Code: refusal.ExitCode(), Text: oneLine(text), Kind: kindOf(refusal.ExitCode(), text)}
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", argv[0], ErrToolMissing)
	}
	return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
}

// numberRE is drbdsetup's print_config_error: "Failure: (%d) %s" for errors
// of the request, "State change failed: (%d) %s" for those of the state
// machine (user/v9/drbdsetup.c, user/v84/drbdsetup.c).
var numberRE = regexp.MustCompile(`(?:Failure|State change failed): \((-?\d+)\)`)

// numbers are enum drbd_ret_code (100 and up) and enum drbd_state_rv
// (negative) of linux/drbd.h, the same in 8.4 and 9.
var numbers = map[int]error{
	102: ErrAddressInUse,     // ERR_LOCAL_ADDR; on 8.4 also connect of what is connecting
	111: ErrTooSmall,         // ERR_DISK_TOO_SMALL; 9.3.3/1162
	119: ErrNoMetadata,       // ERR_MD_INVALID; 9.3.3/1160, 1161
	124: ErrAlreadyAttached,  // ERR_DISK_CONFIGURED; 9.3.3/1165
	125: ErrAlreadyConnected, // ERR_NET_CONFIGURED; 9.3.3/1206, 1133
	127: ErrUnknownMinor,     // ERR_MINOR_INVALID; 9.3.3/160 to 164
	130: ErrResync,           // ERR_RESIZE_RESYNC; 8.4.11/122, 9.3.3/1027
	131: ErrNoPrimary,        // ERR_NO_PRIMARY, of resize
	134: ErrAlreadyPaused,    // ERR_PAUSE_IS_SET
	135: ErrAlreadyPaused,    // ERR_PAUSE_IS_CLEAR
	151: ErrNotFresh,         // ERR_CONNECTED; 8.4.11/166, 9.3.3/242, 262
	158: ErrUnknownResource,  // ERR_RES_NOT_KNOWN; 9.3.3/157 and following
	160: ErrStillUp,          // ERR_MINOR_CONFIGURED; 9.3.3/290
	161: ErrAlreadyUp,        // ERR_MINOR_OR_VOLUME_EXISTS; 9.3.3/130, 1158
	162: ErrNoConnection,     // ERR_INVALID_REQUEST with "unknown connection"; 8.4.11/089, 9.3.3/1195
	173: ErrAddressInUse,     // ERR_ADDRESS_IN_USE family; 9.3.3/1195
	-1:  ErrOtherPrimary,     // SS_TWO_PRIMARIES; 8.4.11/054, 9.3.3/280
	-2:  ErrNoUpToDate,       // SS_NO_UP_TO_DATE_DISK; 8.4.11/146, 9.3.3/241
	-7:  ErrNotFenced,        // SS_PRIMARY_NOP, with fencing
	-12: ErrHeldOpen,         // SS_DEVICE_IN_USE; 8.4.11/056, 9.3.3/285
	-15: ErrNoConnection,     // SS_NEED_CONNECTION; 8.4.11/100
	-18: ErrTransient,        // SS_IN_TRANSIENT_STATE; disconnect of 8.4 during a handshake
	-25: ErrNoQuorum,         // SS_NO_QUORUM; 9.3.3/315
}

// texts are messages without a number.
var texts = []struct {
	re   *regexp.Regexp
	kind error
}{
	// drbdsetup status of v84 and v9; 8.4.11/010, 9.3.3/011.
	{regexp.MustCompile(`: No such resource\b`), ErrUnknownResource},
	// drbdsetup role; 9.3.3/175.
	{regexp.MustCompile(`: Unknown resource\b`), ErrUnknownResource},
	// drbdadm main(); 8.4.11/149, 9.3.3/156 and 015.
	{regexp.MustCompile(`not defined in your config|no resources defined!`), ErrNotDefined},
	// drbdadm main() and its parser; utils-9.22.0/02, 03.
	{regexp.MustCompile(`Parse error: |Can not open '[^']*'\.`), ErrConfig},
	// drbdadm verify_ips().
	{regexp.MustCompile(`IP \S+ not found on this host`), ErrNoAddress},
	// drbdmeta md_open and meta_apply_al; 8.4.11/144, 9.3.3/112.
	{regexp.MustCompile(`No valid meta data found`), ErrNoMetadata},
	// drbdmeta meta_dump_md().
	{regexp.MustCompile(`Found meta data is "unclean"`), ErrUncleanMetadata},
	// drbdmeta main(); 8.4.11/212, 9.3.3/131.
	{regexp.MustCompile(`Device '[^']*' is configured!`), ErrAlreadyAttached},
	// drbdmeta pread_or_die(); 9.3.3/1087, 1088.
	{regexp.MustCompile(`Input/output error`), ErrDiskIO},
	// drbdsetup conv_block_dev(), drbdmeta v06..v09 open; 9.3.3/1159, utils-9.22.0/04.
	{regexp.MustCompile(`(?:Can not open device '|open\()/\S+?'?\)?(?: failed)?: No such file or directory`), ErrNoDisk},
	// drbdsetup main() and modprobe_drbd() of v84 and v9; utils-9.22.0/01, 12.
	{regexp.MustCompile(`Could not connect to 'drbd' generic netlink family|DRBD kernel module is installed|modprobe drbd`), ErrNoModule},
	// getopt of drbdsetup and drbdadm, print_usage_and_exit; 8.4.11/062, 067, 084, 9.3.3/177.
	{regexp.MustCompile(`unrecognized option|invalid command|Unknown command '`), ErrUsage},
}

// kindOf finds the meaning of a refusal.
func kindOf(code int, text string) error {
	if m := numberRE.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return numbers[n]
	}
	for _, t := range texts {
		if t.re.MatchString(text) {
			return t.kind
		}
	}
	switch code {
	case 20: // drbdsetup and drbdmeta print their usage, on standard output
		return ErrUsage
	case 127: // the shell's and env's answer
		return ErrToolMissing
	}
	return nil
}

// secretRE finds the option as drbdadm repeats it in
// "Command 'drbdsetup new-peer ... ' terminated with exit code N".
var secretRE = regexp.MustCompile(`(shared-secret[=\s]+)("[^"]*"|[^\s';]+)`)

func redact(text string) string { return secretRE.ReplaceAllString(text, "${1}***") }

func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// An Opener is a process that holds a device open.
type Opener struct {
	Device  string // drbd1000
	Process string
	PID     int
}

// openerRE is the kernel's text; 9.3.3/285. DRBD 8.4 names nobody.
var openerRE = regexp.MustCompile(`(\S+) opened by (\S+) \(pid (\d+)\)`)

// Openers tells who holds devices open, as far as ErrHeldOpen says.
func Openers(err error) []Opener {
	refusal, ok := errors.AsType[*Error](err)
	if !ok {
		return nil
	}
	var who []Opener
	for _, m := range openerRE.FindAllStringSubmatch(refusal.Text, -1) {
		pid, _ := strconv.Atoi(m[3])
		who = append(who, Opener{Device: m[1], Process: m[2], PID: pid})
	}
	return who
}

// garbage says that a tool's output cannot be read.
func garbage(what string, text []byte) error {
	return fmt.Errorf("%s: %w: %.120q", what, ErrGarbage, redact(string(text)))
}
