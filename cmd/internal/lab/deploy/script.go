package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/drbd"
	"rvol/lvm"
)

// Scripted lets scripts act on the cluster; it is a script.World.
type Scripted struct{ *Cluster }

// scriptTime is how long one line of a script may take that is about machines.
const scriptTime = 2 * time.Minute

// Name is what scripts test for.
func (s Scripted) Name() string { return "kernel" }

// Rvol runs the command line on this machine.
func (s Scripted) Rvol(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	code, err := s.Client.Run(ctx, Output{Stdout: stdout, Stderr: stderr}, args...)
	if err != nil {
		fmt.Fprintln(stderr, err) // the code says it too
	}
	return code
}

func (s Scripted) timed(do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), scriptTime)
	defer cancel()
	return do(ctx)
}

func (s Scripted) shell(node, format string, args ...any) error {
	return s.timed(func(ctx context.Context) error {
		_, err := s.On(ctx, node, fmt.Sprintf(format, args...))
		return err
	})
}

// Kill takes a node's power.
func (s Scripted) Kill(node string) error {
	return s.timed(func(ctx context.Context) error { return s.World.Kill(ctx, node) })
}

// Start boots it again.
func (s Scripted) Start(node string) error {
	return s.timed(func(ctx context.Context) error { return s.World.Start(ctx, node) })
}

// Cut loses everything between two nodes.
func (s Scripted) Cut(a, b string, oneWay bool) error {
	return s.timed(func(ctx context.Context) error {
		return s.World.Disturb(ctx, lab.Fault{A: a, B: b, Cut: true, OneWay: oneWay})
	})
}

// Isolate cuts a node from all others.
func (s Scripted) Isolate(node string) error { return s.Cut(node, "", false) }

// Heal repairs every link.
func (s Scripted) Heal() error { return s.timed(s.World.Heal) }

// A crash: the process is gone between two instructions, and systemd does not bring it back until it is told to.
const crash = "systemctl kill -s KILL --kill-whom=main %[1]s; systemctl stop %[1]s"

// StopAgent ends the node's agent, as a crash does.
func (s Scripted) StopAgent(node string) error { return s.shell(node, crash, "rvol-agent") }

// StartAgent runs it again.
func (s Scripted) StartAgent(node string) error { return s.shell(node, "systemctl start rvol-agent") }

// StopCoordinator ends the node's coordinator, as a crash does.
func (s Scripted) StopCoordinator(node string) error { return s.shell(node, crash, "rvol-coordinator") }

// StartCoordinator runs it again.
func (s Scripted) StartCoordinator(node string) error {
	return s.shell(node, "systemctl start rvol-coordinator")
}

// Tool runs a tool of the node.
func (s Scripted) Tool(ctx context.Context, node string, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	out, err := lab.Runner(s.World, node)(ctx, argv...)
	return string(out), err
}

// Holds lists the node's logical volumes, DRBD resources, .res files and links to devices.
func (s Scripted) Holds(ctx context.Context, node string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	run := lab.Runner(s.World, node)
	report, err := lvm.New(run).Report(ctx)
	if err != nil {
		return "", err
	}
	version, err := drbd.Detect(ctx, run)
	if err != nil {
		return "", err
	}
	resources, err := drbd.New(run, version).StatusAll(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, lv := range report.LVs {
		fmt.Fprintf(&out, "lv %s/%s\n", lv.VG, lv.Name)
	}
	for _, r := range resources {
		fmt.Fprintf(&out, "drbd %s\n", r.Name)
	}
	files, err := s.On(ctx, node, `find /etc/drbd.d/rvol -name '*.res' -printf 'file %f\n'
		for l in $(find /dev/rvol /dev/drbd/by-res -type l 2>/dev/null); do echo "link $l $(basename $(readlink -f $l))"; done`)
	return out.String() + files, err
}

// Write writes to the volume's device and returns when the data is stable.
func (s Scripted) Write(ctx context.Context, node, volume string, offset int64, data []byte) error {
	return s.dd(ctx, node, bytes.NewReader(data), io.Discard,
		"of=/dev/rvol/"+volume, "oflag=seek_bytes", "seek="+strconv.FormatInt(offset, 10), "conv=notrunc,fsync")
}

// Read reads from the volume's device.
func (s Scripted) Read(ctx context.Context, node, volume string, offset, n int64) ([]byte, error) {
	var out bytes.Buffer
	err := s.dd(ctx, node, nil, &out, "if=/dev/rvol/"+volume, "iflag=skip_bytes,count_bytes,fullblock",
		"skip="+strconv.FormatInt(offset, 10), "count="+strconv.FormatInt(n, 10))
	return out.Bytes(), err
}

// Corrupt writes to a logical volume itself.
func (s Scripted) Corrupt(ctx context.Context, node, lv string, offset int64, data []byte) error {
	return s.dd(ctx, node, bytes.NewReader(data), io.Discard,
		"of=/dev/"+lv, "bs="+strconv.Itoa(len(data)), "iflag=fullblock", "oflag=direct,seek_bytes", "seek="+strconv.FormatInt(offset, 10), "conv=notrunc,fsync")
}

func (s Scripted) dd(ctx context.Context, node string, in io.Reader, out io.Writer, args ...string) error {
	var text strings.Builder
	code, err := s.World.Exec(ctx, node, lab.Command{Argv: append([]string{"dd", "status=none"}, args...), Stdin: in, Stdout: out, Stderr: &text})
	if err == nil && code != 0 {
		err = fmt.Errorf("dd on %s: exit status %d: %s", node, code, strings.TrimSpace(text.String()))
	}
	return err
}

// Hold opens the volume's device in a process called who.
func (s Scripted) Hold(node, volume, who string) error {
	return s.shell(node, `mkdir -p /run/hold; ln -sf /bin/sleep /run/hold/%[2]s
		systemd-run -q --unit hold-%[1]s sh -c 'exec 9<>/dev/rvol/%[1]s && exec /run/hold/%[2]s infinity'
		for i in $(seq 50); do ls -l /proc/*/fd/9 2>/dev/null | grep -q drbd && exit 0; sleep 0.1; done; exit 1`, volume, who)
}

// Release closes what Hold opened.
func (s Scripted) Release(node, volume string) error {
	return s.shell(node, "systemctl stop hold-%s", volume)
}

// Fault puts something else in the place of a node's tools.
func (s Scripted) Fault(node, verb, kind string, args []string) error {
	var does string
	switch kind {
	case "hang":
		does = "exec /run/spoiled/hang infinity"
	case "garbage":
		does = `printf '{"report": [{"vg": ['; exit 0`
	case "missing":
		return s.shell(node, spoil+`for t in $tools; do rm -f /usr/sbin/$t; done`, toolsOf(verb))
	case "fail":
		code, text := "5", "injected failure"
		if len(args) == 2 {
			code, text = args[0], args[1]
		}
		does = fmt.Sprintf("echo %q >&2; exit %s", text, code)
	default:
		return fmt.Errorf("no fault %q: want hang, garbage, missing or fail", kind)
	}
	return s.shell(node, spoil+`for t in $tools; do
		rm -f /usr/sbin/$t
		{ echo '#!/bin/sh'; echo 'case " ${0##*/} $* " in *" %[2]s "*)' %[3]s ';; esac'; echo "[ $t != lvm -o \${0##*/} = lvm ] || set -- \${0##*/} \"\$@\""; echo "exec /usr/lib/whole/$t \"\$@\""; } >/usr/sbin/$t
		chmod 755 /usr/sbin/$t
	done`, toolsOf(verb), verb, quote(does))
}

// spoil keeps the tools before they are spoiled. LVM's are links to one program, which looks at its name.
const spoil = `tools='%[1]s'; mkdir -p /usr/lib/whole /run/spoiled; ln -sf /bin/sleep /run/spoiled/hang
	for t in $tools; do [ -e /usr/lib/whole/$t ] || cp -pL /usr/sbin/$t /usr/lib/whole/$t; done
`

// toolsOf are the programs that understand a verb: LVM's are called like it, but for its full report.
func toolsOf(verb string) string {
	if verb == "fullreport" {
		return "lvm"
	}
	if strings.HasPrefix(verb, "lv") || strings.HasPrefix(verb, "vg") || strings.HasPrefix(verb, "pv") || strings.HasPrefix(verb, "drbd") {
		return verb
	}
	return "drbdadm drbdsetup drbdmeta"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Mend brings back all tools of a node, and ends what hangs.
func (s Scripted) Mend(node string) error {
	return s.shell(node, `for t in $(ls /usr/lib/whole); do rm -f /usr/sbin/$t; cp -a /usr/lib/whole/$t /usr/sbin/$t; done
		for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" != hang ] || kill ${p#/proc/}; done`)
}

// Foreign makes a logical volume that is not rvol's.
func (s Scripted) Foreign(node, vg, name string, size int64) error {
	return s.shell(node, "lvcreate -qq -y -W n -n %s -L %db %s", name, size, vg)
}

// Leader names the node whose coordinator leads.
func (s Scripted) Leader(ctx context.Context) (string, error) {
	leader, err := s.Cluster.Leader(ctx)
	if err == nil && leader == "" {
		err = errors.New("no coordinator leads")
	}
	return leader, err
}

// Advance lets time pass.
func (s Scripted) Advance(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
