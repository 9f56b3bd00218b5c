package drbdtest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
)

// recorded is one recording: on which node, the command, what it said, how it ended.
type recorded struct {
	node, command, text string
	exit                int
}

var exitRE = regexp.MustCompile(`(?m)^exit[ =](\d+)\s*\z`)

func (r *replay) read(number string) recorded {
	r.Helper()
	names, err := filepath.Glob(filepath.Join("..", "testdata", r.folder, number+"-*"))
	if err != nil || len(names) != 1 {
		r.Fatalf("%s: recording %s: %d files, %v", r.at, number, len(names), err)
	}
	b, err := os.ReadFile(names[0])
	r.ok(err)
	m := exitRE.FindStringSubmatchIndex(string(b))
	if m == nil {
		r.Fatalf("%s: recording %s has no exit code", r.at, number)
	}
	var rec recorded
	rec.exit, err = strconv.Atoi(string(b[m[2]:m[3]]))
	r.ok(err)
	rec.command, rec.text, _ = strings.Cut(string(b[:m[0]]), "\n")
	rec.command, _, _ = strings.Cut(strings.TrimPrefix(rec.command, "$ "), "   # on ")
	name := strings.TrimSuffix(filepath.Base(names[0]), ".txt") // NUMBER-NODE-WHAT, of 8.4 NUMBER-WHAT.NODE
	if _, rec.node, _ = strings.Cut(name, "."); rec.node == "" {
		rec.node = strings.Split(name, "-")[1]
	}
	return rec
}

// recording does what was recorded, and compares.
func (r *replay) recording(number string) {
	r.Helper()
	rec := r.read(number)
	if isStatus(rec.command) {
		r.states(number, rec)
		return
	}
	var last *drbd.Error
	var said, echoed []string
	ran := 0
	for part := range strings.SplitSeq(rec.command, ";") {
		for alternative := range strings.SplitSeq(part, "&&") {
			words := strings.Fields(alternative)
			switch {
			case len(words) == 0:
			case words[0] == "echo" && strings.HasSuffix(words[1], "$?"):
				code := 0
				if last != nil {
					code = last.Code
				}
				echoed = append(echoed, strings.TrimSuffix(words[1], "$?")+strconv.Itoa(code))
			case words[0] == "sleep":
				d, err := time.ParseDuration(words[1] + "s")
				r.ok(err)
				time.Sleep(d)
			case strings.HasPrefix(words[0], "drbd"):
				if known, refusal := r.command(rec.node, words); known {
					last, ran = refusal, ran+1
					said = append(said, saying(refusal)...)
				}
			}
		}
	}
	if ran == 0 {
		r.Errorf("%s: %s: nothing of %q can be done again", r.at, number, rec.command)
	}
	code := 0
	if last != nil {
		code = last.Code
	}
	if !strings.Contains(rec.command, ";") && code != rec.exit {
		r.Errorf("%s: %s: %s: exit %d (%v), recorded %d", r.at, number, rec.command, code, last, rec.exit)
	}
	if diff := cmp.Diff(sayingRE.FindAllString(rec.text, -1), said); diff != "" {
		r.Errorf("%s: %s: %s (-recorded +simulated):\n%s", r.at, number, rec.command, diff)
	}
	if diff := cmp.Diff(echoRE.FindAllString(rec.text, -1), echoed); len(echoed) > 0 && diff != "" {
		r.Errorf("%s: %s: %s (-recorded +simulated):\n%s", r.at, number, rec.command, diff)
	}
}

var (
	sayingRE = regexp.MustCompile(`\S+: (?:Failure|State change failed): .*|No valid meta data found|\d of \d nodes visible.*|unknown (?:connection|minor|resource)`)
	echoRE   = regexp.MustCompile(`(?m)^(?:rc|del|forget|rc-[a-z-]+)=\d+`)
)

// saying is what a refusal says, as far as it is compared.
func saying(refusal *drbd.Error) []string {
	if refusal == nil {
		return nil
	}
	return sayingRE.FindAllString(strings.ReplaceAll(refusal.Text, "; ", "\n"), -1)
}

// isStatus says that a recording is of what a node's state was.
func isStatus(command string) bool {
	for _, c := range []string{"drbdsetup status r0 --json", "drbdsetup status r1 --json", "drbdsetup status --verbose"} {
		if strings.HasPrefix(command, c) {
			return true
		}
	}
	return strings.HasPrefix(command, "date; drbdsetup status") || strings.HasPrefix(command, "i=0; while drbdsetup")
}

// command runs a recorded command the way package drbd does it. Not known: it is not
// one that the project uses.
func (r *replay) command(node string, words []string) (known bool, refusal *drbd.Error) {
	r.Helper()
	var err error
	if words[0] == "drbdsetup" {
		_, err = r.node(node).Run(r.Context(), words...)
	} else {
		err, known = r.adm(node, words[1:])
		if !known {
			return false, nil
		}
	}
	if err == nil {
		return true, nil
	}
	if e, ok := errors.AsType[*drbd.Error](err); ok {
		return true, e
	}
	type refused interface {
		error
		ExitCode() int
		Stderr() []byte
	}
	e, ok := errors.AsType[refused](err)
	if !ok {
		r.Fatalf("%s: %v: %v", r.at, words, err)
	}
	return true, &drbd.Error{Argv: words, Code: e.ExitCode(), Text: string(e.Stderr())}
}

// adm does what drbdadm did, with the commands that the project uses for it.
func (r *replay) adm(node string, words []string) (err error, known bool) {
	r.Helper()
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "-v" || w == "--" || w == "--assume-clean" })
	t, ctx := r.tool(node), r.Context()
	_, peerName, _ := strings.Cut(words[len(words)-1], ":")
	force := strings.Contains(strings.Join(words, " "), "--force")
	switch words[0] {
	case "up":
		return t.Up(ctx, r.ref()), true
	case "down":
		return t.Down(ctx, r.resource), true
	case "adjust":
		return t.Adjust(ctx, r.ref()), true
	case "primary":
		if force {
			_, err := r.node(node).Run(ctx, append([]string{"drbdsetup", "primary"}, r.forced()...)...)
			return err, true
		}
		return t.Primary(ctx, r.ref()), true
	case "secondary":
		return t.Secondary(ctx, r.ref()), true
	case "attach":
		return t.Attach(ctx, r.ref(), 0), true
	case "detach":
		return t.Detach(ctx, r.minor), true
	case "resize":
		return t.Resize(ctx, r.minor), true
	case "invalidate":
		return t.Invalidate(ctx, r.minor), true
	case "outdate":
		_, err := r.node(node).Run(ctx, "drbdsetup", "outdate", r.minor.String())
		return err, true
	case "create-md":
		return t.CreateMD(ctx, r.meta(), drbd.MaxPeers), true
	case "new-current-uuid":
		return t.NewCurrentUUID(ctx, r.minor, drbd.SkipInitialSync), true
	case "connect", "disconnect", "verify":
		return r.onPeers(node, words, peerName), true
	}
	return nil, false
}

func (r *replay) forced() []string {
	if r.version.Is84() {
		return []string{r.minor.String(), "--force"}
	}
	return []string{r.resource, "--force"}
}

// onPeers is a command about one peer, or about all.
func (r *replay) onPeers(node string, words []string, peerName string) error {
	r.Helper()
	t, ctx := r.tool(node), r.Context()
	for _, h := range r.hosts {
		if h.Name == node || peerName != "" && h.Name != peerName {
			continue
		}
		var err error
		switch words[0] {
		case "connect":
			if words[1] == "--discard-my-data" {
				err = t.ConnectDiscarding(ctx, r.ref(), h.NodeID)
			} else {
				err = t.Connect(ctx, r.ref(), h.NodeID)
			}
		case "disconnect":
			err = t.Disconnect(ctx, r.ref(), h.NodeID)
		case "verify":
			err = t.Verify(ctx, r.ref(), h.NodeID, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// states compares a node with its recorded state.
func (r *replay) states(number string, rec recorded) {
	r.Helper()
	var want []drbd.Resource
	var err error
	if r.version.Is84() {
		want = parseText(rec.text)
	} else {
		want, err = drbd.ParseStatus([]byte(rec.text))
		r.ok(err)
	}
	got, err := r.tool(rec.node).StatusAll(r.Context())
	r.ok(err)
	if !r.bits {
		forgetBits(want)
		forgetBits(got)
	}
	if diff := cmp.Diff(states(want), states(got)); diff != "" {
		r.Errorf("%s: %s on %s:\nrecorded\n%s\nsimulated\n%s", r.at, number, rec.node, strings.Join(states(want), "\n"), strings.Join(states(got), "\n"))
	}
}

func forgetBits(resources []drbd.Resource) {
	for _, r := range resources {
		for _, p := range r.Peers {
			for i := range p.Devices {
				p.Devices[i].OutOfSync = 0
			}
		}
	}
}

// states is what a status means, without counts.
func states(resources []drbd.Resource) []string {
	var lines []string
	for _, r := range resources {
		lines = append(lines, fmt.Sprintf("%s node %d %s %+v", r.Name, r.NodeID, r.Role, r.Suspended))
		for _, d := range r.Devices {
			lines = append(lines, fmt.Sprintf("  volume %d minor %d %s client %t %d bytes quorum %t", d.Volume, d.Minor, d.Disk, d.Client, d.Size, d.Quorum))
		}
		for _, p := range r.Peers {
			lines = append(lines, fmt.Sprintf("  peer %d %s %s %s", p.NodeID, p.Name, p.Conn, p.Role))
			for _, d := range p.Devices {
				lines = append(lines, fmt.Sprintf("    %s %s suspended %q in sync %t", d.Repl, d.Disk, d.ResyncSuspended, d.OutOfSync == 0))
			}
		}
	}
	return lines
}

// parseText reads status --verbose --statistics of DRBD 8.4, which is made
// for people: words with a colon are fields, words without are names. What
// follows an empty line is another command's.
func parseText(text string) []drbd.Resource {
	_, text, up := strings.Cut("\n"+text, "\nr0 ")
	if !up {
		return nil
	}
	block, _, _ := strings.Cut("r0 "+text, "\n\n")
	var lines []string
	var kind drbd.EventObject
	begin := func(k drbd.EventObject, words string) {
		kind = k
		lines = append(lines, "exists "+string(k)+" "+words)
	}
	for word := range strings.FieldsSeq(block) {
		switch {
		case !strings.Contains(word, ":") && kind == "":
			begin(drbd.ResourceEvent, "name:"+word)
		case !strings.Contains(word, ":"):
			begin(drbd.ConnectionEvent, "name:r0 conn-name:"+word)
		case strings.HasPrefix(word, "volume:") && kind == drbd.ConnectionEvent:
			begin(drbd.PeerDeviceEvent, "name:r0 "+word)
		case strings.HasPrefix(word, "volume:"):
			begin(drbd.DeviceEvent, "name:r0 "+word)
		default:
			lines[len(lines)-1] += " " + word
		}
	}
	resources, err := drbd.ParseDump([]byte(strings.Join(append(lines, "exists -"), "\n")))
	if err != nil {
		return nil
	}
	return resources
}
