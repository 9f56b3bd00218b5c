//go:build kernellab

package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/kernel"
	"rvol/cmd/internal/lab/uml"
)

// reaches says that one ping is answered within a second.
func reaches(t *testing.T, w lab.World, from, to string) bool {
	t.Helper()
	return pings(t, w, from, to, 1)
}

// comesToReach says that a ping is answered in the end: on a busy machine the first ones may be late.
func comesToReach(t *testing.T, w lab.World, from, to string) bool {
	t.Helper()
	return pings(t, w, from, to, 30)
}

func pings(t *testing.T, w lab.World, from, to string, tries int) bool {
	t.Helper()
	ping := fmt.Sprintf("for i in $(seq %d); do ping -c1 -W1 -q %s && exit; done; exit 1", tries, to)
	code, err := w.Exec(t.Context(), from, lab.Command{Argv: []string{"sh", "-c", ping}})
	if err != nil {
		t.Fatal(err)
	}
	return code == 0
}

func TestALabOfThreeNodesWithAPayload(t *testing.T) {
	payload := t.TempDir()
	for name, text := range map[string]string{
		"bin/hello":   "#!/bin/sh\necho hello from the payload\n",
		"etc/my.conf": "configured\n",
		"systemd/rvol-hello.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/opt/rvol/bin/hello\n" +
			"[Install]\nWantedBy=multi-user.target\n",
	} {
		file, mode := filepath.Join(payload, name), fs.FileMode(0o644)
		if strings.HasPrefix(name, "bin/") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	w := up(t, lab.Config{Nodes: 3, Networks: 2, Disks: 2, Payload: payload})
	t.Run("programs, configuration and units of the payload are in force", func(t *testing.T) { payloadInForce(t, w) })
	t.Run("links are cut and healed", func(t *testing.T) { linksAreCut(t, w) })
	t.Run("a port of a node is reached although the node is isolated", func(t *testing.T) { portReached(t, w) })
	t.Run("power loss keeps what was flushed and loses what was not", func(t *testing.T) { powerLoss(t, w) })
	t.Run("a node that stops is off, and one that dies is dead", func(t *testing.T) { stopAndDie(t, w) })
	t.Run("a node without its agent keeps nobody waiting", func(t *testing.T) { agentGone(t, w) })
	t.Run("a folder arrives as it is", func(t *testing.T) { folderArrives(t, w) })
}

func payloadInForce(t *testing.T, w lab.World) {
	if got := sh(t, w, "n2", "hello; cat /etc/my.conf; systemctl is-active rvol-hello; hostname; lsblk -dn -o NAME,SIZE /dev/ubdc"); got !=
		"hello from the payload\nconfigured\nactive\nn2\nubdc  512M" {
		t.Error(got)
	}
	var log bytes.Buffer
	if err := w.Logs(t.Context(), "n2", &log); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "Linux version") || !strings.Contains(log.String(), "hello from the payload") {
		t.Error("neither console nor journal:", log.String())
	}
}

func linksAreCut(t *testing.T, w lab.World) {
	for _, f := range []lab.Fault{{A: "n1", B: "n2", Cut: true}, {A: "n1", B: "n2", OneWay: true, Cut: true}, {A: "n2", Cut: true}} {
		if err := w.Disturb(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if reaches(t, w, "n1", "n2") || reaches(t, w, "n2", "n1") || !comesToReach(t, w, "n1", "n3") {
			t.Errorf("%+v is not what happened", f)
		}
		if err := w.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !comesToReach(t, w, "n1", "n2") {
			t.Error("not healed")
		}
	}
	if err := w.Disturb(t.Context(), lab.Fault{A: "n1", B: "n2", Network: 1, Cut: true}); err != nil {
		t.Fatal(err)
	}
	if reaches(t, w, "n1", "n2") || !comesToReach(t, w, "n1", lab.Address(2, 2)) {
		t.Error("a fault of network 1 hit network 2, or not network 1")
	}
	if err := w.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func portReached(t *testing.T, w lab.World) {
	if err := w.Disturb(t.Context(), lab.Fault{A: "n3", Cut: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Heal(t.Context()) }() // the next test would notice
	sh(t, w, "n3", `printf '[Socket]\nListenStream=7000\nAccept=yes\n' >/run/systemd/system/cat.socket
		printf '[Service]\nExecStart=cat\nStandardInput=socket\n' >/run/systemd/system/cat@.service
		systemctl daemon-reload; systemctl start cat.socket`)
	c, err := w.Dial(t.Context(), "n3", 7000)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("echo")); err != nil {
		t.Fatal(err)
	}
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "echo" {
		t.Errorf("%q, %v", got, err)
	}
	var nobody net.Conn
	if nobody, err = w.Dial(t.Context(), "n3", 7001); err == nil {
		nobody.Close()
		t.Error("a port nobody listens on was opened")
	}
}

func powerLoss(t *testing.T, w lab.World) {
	sh(t, w, "n1", "echo flushed >/root/flushed; sync; echo not >/root/not")
	if err := w.Kill(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Exec(t.Context(), "n1", lab.Command{Argv: []string{"true"}}); !errors.Is(err, uml.ErrOff) {
		t.Errorf("a command on a node without power: %v", err)
	}
	start := time.Now()
	if err := w.Start(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	t.Logf("back after %.1f s", time.Since(start).Seconds())
	if got := sh(t, w, "n1", "cat /root/flushed; cat /root/not 2>/dev/null || true"); got != "flushed" {
		t.Errorf("after the loss of power: %q", got)
	}
	if err := w.Start(t.Context(), "n1"); err == nil || !strings.Contains(err.Error(), "it runs already") {
		t.Error(err)
	}
}

func stopAndDie(t *testing.T, w *kernel.World) {
	start := time.Now()
	if err := w.Stop(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped after %.1f s", time.Since(start).Seconds())
	before, err := w.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(before.Nodes[2].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, err = w.Dial(t.Context(), "n3", 22); !errors.Is(err, uml.ErrOff); _, err = w.Dial(t.Context(), "n3", 22) {
	}
	s, err := w.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, n := range s.Nodes {
		states = append(states, n.State)
	}
	if diff := cmp.Diff([]string{"running", "off", "dead"}, states); diff != "" {
		t.Error(diff)
	}
	if s.Nodes[0].Kernel == "" || s.Nodes[0].DRBD == "" || s.Nodes[2].Detail == "" {
		t.Errorf("%+v", s)
	}
	for _, n := range []string{"n2", "n3"} {
		if err := w.Start(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

func folderArrives(t *testing.T, w lab.World) {
	src := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(src, "d"), 0o755), os.WriteFile(filepath.Join(src, "d", "f"), []byte("text"), 0o600),
		os.Symlink("f", filepath.Join(src, "d", "l"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Push(t.Context(), "n1", src, "/root/new/place"); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, w, "n1", "cd /root/new/place/d; cat l; stat -c ' %a %U' f"); got != "text 600 root" {
		t.Error(got)
	}
}

func agentGone(t *testing.T, w lab.World) {
	sh(t, w, "n2", "systemd-run -q sh -c 'while systemctl -q is-active labagent; do sleep 0.2; done; sleep 4; systemctl start labagent'")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	stop := lab.Command{Argv: []string{"systemctl", "stop", "labagent"}}
	if _, err := w.Exec(ctx, "n2", stop); err == nil {
		t.Error("a command outlived the agent that ran it")
	}
	start := time.Now()
	s, err := w.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); s.Nodes[1].Detail == "" || took > 2*time.Second {
		t.Errorf("after %v: %+v", took, s.Nodes[1])
	}
	if got := sh(t, w, "n2", "echo back"); got != "back" {
		t.Error(got)
	}
}
