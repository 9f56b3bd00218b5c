//go:build kernellab

package kernel_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"path"
	"strconv"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/kernel"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestTheSuiteOfDRBDHoldsOnRealKernels(t *testing.T) {
	w := &drbdWorld{lab: up(t, lab.Config{Nodes: 3, Disks: 1})}
	for i := 1; i <= 3; i++ {
		name := lab.NodeName(i)
		sh(t, w.lab, name, "modprobe drbd; pvcreate -qq /dev/ubdb; vgcreate -qq vg0 /dev/ubdb")
		m := &machine{world: w, name: name, address: netip.MustParseAddr(lab.Address(1, i))}
		v, err := drbd.Detect(t.Context(), m.Run)
		if err != nil {
			t.Fatal(err)
		}
		m.version = v
		w.machines = append(w.machines, m)
	}
	drbdtest.Suite(t, func(t *testing.T, behaviour func(*testing.T, drbdtest.World)) { behaviour(t, w) })
}

// drbdWorld is the lab as the suite drives it.
type drbdWorld struct {
	lab      *kernel.World
	machines []drbdtest.Machine
}

func (w *drbdWorld) Nodes() []drbdtest.Machine { return w.machines }

func (w *drbdWorld) Cut(t *testing.T, a, b drbdtest.Machine) {
	t.Helper()
	if err := w.lab.Disturb(t.Context(), lab.Fault{A: a.Name(), B: b.Name(), Cut: true}); err != nil {
		t.Fatal(err)
	}
}

func (w *drbdWorld) Heal(t *testing.T) {
	t.Helper()
	if err := w.lab.Heal(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

const (
	patience = time.Minute
	tryEvery = 100 * time.Millisecond
)

func (w *drbdWorld) Eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		case <-time.After(tryEvery):
		}
	}
}

// machine is one node.
type machine struct {
	world   *drbdWorld
	name    string
	address netip.Addr
	version drbd.Version
}

func (m *machine) Name() string          { return m.name }
func (m *machine) Address() netip.Addr   { return m.address }
func (m *machine) Version() drbd.Version { return m.version }

func (m *machine) Run(ctx context.Context, argv ...string) ([]byte, error) {
	return lab.Runner(m.world.lab, m.name)(ctx, argv...)
}

func (m *machine) Follow(ctx context.Context, argv []string, line func([]byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, w := io.Pipe()
	read := make(chan struct{})
	go func() {
		defer close(read)
		s := bufio.NewScanner(r)
		for s.Scan() {
			if err := line(s.Bytes()); err != nil {
				cancel(err)
				break
			}
		}
		io.Copy(io.Discard, r) // a pipe of ours
	}()
	code, err := m.world.lab.Exec(ctx, m.name, lab.Command{Argv: argv, Stdout: w})
	w.Close()
	<-read
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err == nil && code != 0 {
		err = &lab.ExitError{Node: m.name, Tool: argv[0], Code: code}
	}
	return err
}

// feed runs a script with input.
func (m *machine) feed(ctx context.Context, in []byte, script string, args ...string) ([]byte, error) {
	var out, text bytes.Buffer
	code, err := m.world.lab.Exec(ctx, m.name, lab.Command{
		Argv: append([]string{"sh", "-euc", script, "sh"}, args...), Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &text,
	})
	if err == nil && code != 0 {
		err = &lab.ExitError{Node: m.name, Tool: script, Code: code, Text: text.Bytes()}
	}
	return out.Bytes(), err
}

func (m *machine) WriteFile(t *testing.T, file string, text []byte) {
	t.Helper()
	if _, err := m.feed(t.Context(), text, `cat >"$1.new"; mv "$1.new" "$1"; sync -f "$1"`, file); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) NewDisk(t *testing.T, name string, size int64) string {
	t.Helper()
	sh(t, m.world.lab, m.name, fmt.Sprintf("lvcreate -qq -y -W n -n %[1]s -L %[2]db vg0; dd if=/dev/zero of=/dev/vg0/%[1]s bs=1M oflag=direct count=%[2]d iflag=count_bytes 2>/dev/null", name, size))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := m.feed(ctx, nil, "lvremove -qq -f vg0/"+name); err != nil {
			t.Error(err)
		}
	})
	return path.Join("/dev/vg0", name)
}

func (m *machine) Grow(t *testing.T, disk string, size int64) {
	t.Helper()
	// An earlier disk of just this size may have left metadata there: the agent clears them too.
	sh(t, m.world.lab, m.name, fmt.Sprintf("lvextend -qq -L %db %s; dd if=/dev/zero of=%[2]s bs=1M oflag=direct,seek_bytes conv=notrunc seek=%d count=1 2>/dev/null", size, disk, size-1<<20))
}

func (m *machine) Corrupt(t *testing.T, disk string, off int64, data []byte) {
	t.Helper()
	if _, err := m.feed(t.Context(), data, `dd of="$1" bs="$2" seek="$3" iflag=fullblock oflag=direct,seek_bytes conv=notrunc,fsync`,
		disk, strconv.Itoa(len(data)), strconv.FormatInt(off, 10)); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) PowerOff(t *testing.T) {
	t.Helper()
	if err := m.world.lab.Kill(t.Context(), m.name); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) PowerOn(t *testing.T) {
	t.Helper()
	if err := m.world.lab.Start(t.Context(), m.name); err != nil {
		t.Fatal(err)
	}
	sh(t, m.world.lab, m.name, "modprobe drbd; vgchange -qq -aay vg0")
}

func device(m drbd.Minor) string { return "/dev/drbd" + strconv.Itoa(int(m)) }

func (m *machine) Write(ctx context.Context, minor drbd.Minor, off int64, data []byte) error {
	_, err := m.feed(ctx, data, `dd of="$1" bs="$2" seek="$3" iflag=fullblock oflag=direct,seek_bytes conv=notrunc,fsync`,
		device(minor), strconv.Itoa(len(data)), strconv.FormatInt(off, 10))
	return err
}

func (m *machine) Read(ctx context.Context, minor drbd.Minor, off, length int64) ([]byte, error) {
	return m.feed(ctx, nil, `dd if="$1" bs="$2" skip="$3" count=1 iflag=direct,fullblock,skip_bytes`,
		device(minor), strconv.FormatInt(length, 10), strconv.FormatInt(off, 10))
}

// Hold keeps the device open in a process that ends with its input.
func (m *machine) Hold(t *testing.T, minor drbd.Minor) func() {
	t.Helper()
	in, end := io.Pipe()
	said, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := m.world.lab.Exec(t.Context(), m.name, lab.Command{
			Argv: []string{"sh", "-euc", `exec 3<>"$1"; echo held; cat`, "sh", device(minor)}, Stdin: in, Stdout: out,
		})
		out.CloseWithError(err)
		done <- err
	}()
	if _, err := io.ReadFull(said, make([]byte, len("held\n"))); err != nil {
		t.Fatal(err)
	}
	return func() {
		end.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
