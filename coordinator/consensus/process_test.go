package consensus_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// The variables that make this test binary a member of its own.
const (
	childDir   = "CONSENSUS_TEST_DIR"
	childFault = "CONSENSUS_TEST_FAULT"
)

const (
	healthyWrites = 20
	stoppedByDisk = 3 // exit status
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir, os.Getenv(childFault))
	}
	os.Exit(m.Run())
}

// faults are what a kernel can answer, asked of the real one.
var faults = map[string]func() error{
	"fdatasync fails": func() error { return refuseSyscall(unix.SYS_FDATASYNC, unix.EIO) },
	"no space":        func() error { return refuseSyscall(unix.SYS_PWRITE64, unix.ENOSPC) },
	"write fails":     func() error { return refuseSyscall(unix.SYS_PWRITE64, unix.EIO) },
	"file too large": func() error {
		signal.Ignore(unix.SIGXFSZ)
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 18, Max: 1 << 18})
	},
}

// refuseSyscall makes the kernel answer a system call of this process with errno.
func refuseSyscall(number uint32, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if e != 0 {
		return e
	}
	return nil
}

// child is a cluster of one on a real disk. It writes for ever, says what was
// acknowledged, and after a while meets the fault.
func child(dir, fault string) {
	node, _, err := single(dir, func(err error) {
		fmt.Println("stopped:", err)
		os.Exit(stoppedByDisk)
	})
	if err != nil {
		fmt.Println("start:", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if i == healthyWrites {
			fmt.Println("fault")
			if inject := faults[fault]; inject != nil {
				if err := inject(); err != nil {
					fmt.Println("inject:", err)
					os.Exit(1)
				}
			}
		}
		txn := put(strconv.Itoa(i), strings.Repeat("x", 1<<12))
		if _, err := node.Propose(context.Background(), txn); err == nil {
			fmt.Println("acknowledged", i)
		} else {
			fmt.Println("refused", i, err)
		}
	}
}

// single starts, and if need be makes, a cluster of one and waits until it leads.
func single(dir string, onFatal func(error)) (*consensus.Node, *state.Store, error) {
	_, net := raft.NewInmemTransportWithTimeout("n1", time.Second)
	store := state.NewStore(state.Options{})
	node, err := consensus.New(consensus.Config{
		ID: "n1", Dir: dir, Transport: net, Store: store, OnFatal: onFatal,
		Logger:           slog.New(slog.DiscardHandler),
		HeartbeatTimeout: 50 * time.Millisecond,
		Free:             func() (consensus.Space, error) { return consensus.Space{Free: 1, Total: 1}, nil },
	})
	if err != nil {
		return nil, nil, err
	}
	if err := node.Bootstrap(consensus.Server{ID: "n1", Addr: "n1"}); err != nil && !errors.Is(err, model.ErrExists) {
		return nil, nil, errors.Join(err, node.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for l := range node.LeaderChanges(ctx) {
		if l.Leading {
			return node, store, nil
		}
	}
	return nil, nil, errors.Join(errors.New("no leader"), node.Close())
}

func TestAProcessWhoseDiskFailsEndsAndLosesNothing(t *testing.T) {
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := run(t, dir, name)
			exit := new(exec.ExitError)
			if !errors.As(err, &exit) || exit.ExitCode() != stoppedByDisk {
				t.Fatalf("the process ended with %v, want exit status %d:\n%s", err, stoppedByDisk, out)
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "stopped: stopped after a storage failure: write the log: ") {
				t.Errorf("its last words were %q", last)
			}
			acked := acknowledged(t, lines)
			if name != "file too large" && acked != healthyWrites {
				t.Errorf("%d writes were acknowledged, %d before the fault", acked, healthyWrites)
			}
			remembers(t, dir, acked)
		})
	}
}

func TestAProcessThatIsKilledLosesNothing(t *testing.T) {
	dir := t.TempDir()
	out, err := run(t, dir, "kill")
	if err == nil {
		t.Fatal("it ended by itself")
	}
	acked := acknowledged(t, strings.Split(strings.TrimSpace(out), "\n"))
	if acked < healthyWrites {
		t.Fatalf("%d writes were acknowledged, want %d and more", acked, healthyWrites)
	}
	remembers(t, dir, acked)
}

// run runs this test binary as a member and returns what it said. Without a fault it is
// killed a little after it would have met one.
func run(t *testing.T, dir, fault string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childFault+"="+fault)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	lines, after := bufio.NewScanner(stdout), -1
	for lines.Scan() {
		fmt.Fprintln(&out, lines.Text())
		if after >= 0 || lines.Text() == "fault" {
			after++
		}
		if faults[fault] == nil && after == 10 {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	return out.String(), cmd.Wait()
}

// acknowledged counts the writes that were, and proves that none was after the first
// that was not.
func acknowledged(t *testing.T, lines []string) int {
	t.Helper()
	n, refused := 0, false
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "refused"):
			refused = true
		case strings.HasPrefix(line, "acknowledged"):
			if n++; refused {
				t.Errorf("after the first error: %s", line)
			}
		}
	}
	return n
}

// remembers proves that the first n writes are on the disk.
func remembers(t *testing.T, dir string, n int) {
	t.Helper()
	node, store, err := single(dir, func(err error) { t.Errorf("after the restart: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, ok := state.Get[*model.Node](store.View(), strconv.Itoa(i)); !ok {
			t.Errorf("write %d was acknowledged and is lost", i)
		}
	}
	if err := node.Close(); err != nil {
		t.Error(err)
	}
}
