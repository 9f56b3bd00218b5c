package storage_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/storage"
	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

// commands lists what was run that begins with verb.
func commands(m *lvmtest.Machine, verb string) []string {
	var list []string
	for _, argv := range m.Commands() {
		if argv[0] == verb {
			list = append(list, strings.Join(argv, " "))
		}
	}
	return list
}

// TestOneChangeAtATime counts the commands that change vg0 and overlap.
func TestOneChangeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := machine(t, "")
		var mu sync.Mutex
		changing, overlaps := 0, 0
		c.Tool = lvm.New(func(ctx context.Context, argv ...string) ([]byte, error) {
			if argv[0] == "lvm" {
				return m.Run(ctx, argv...)
			}
			mu.Lock()
			changing++
			if changing > 1 {
				overlaps++
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			changing--
			mu.Unlock()
			return m.Run(ctx, argv...)
		})
		b := storage.NewThick(c)
		var wg sync.WaitGroup
		for replica := range 8 {
			wg.Go(func() {
				name := lvm.Name{Volume: "db", Replica: replica}
				d, err := b.Create(t.Context(), storage.Spec{Name: name, Size: 4 << 20, Tags: tags})
				if err == nil {
					err = b.Remove(t.Context(), storage.Identity{Name: name, UUID: d.UUID, Tags: tags})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if overlaps > 0 {
			t.Errorf("%d changes overlapped", overlaps)
		}
	})
}

func TestStuckCommandKeepsItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := machine(t, "")
		b := storage.NewThick(c)
		spec := storage.Spec{Name: db, Size: 4 << 20, Tags: tags}
		release := m.Hang("lvcreate")

		waited := make(chan error)
		go func() { // queues up behind the command that gets stuck
			time.Sleep(time.Second)
			_, err := b.Create(t.Context(), storage.Spec{Name: lvm.Name{Volume: "web"}, Size: 4 << 20, Tags: tags})
			waited <- err
		}()
		start := time.Now()
		_, err := b.Create(t.Context(), spec)
		wantStuck(t, err)
		wantStuck(t, <-waited)

		// Until it has ended, everything in the group is refused at once.
		patience := time.Since(start)
		for what, err := range map[string]error{
			"create":  second(b.Create(t.Context(), spec)),
			"devices": second(b.Devices(t.Context())),
			"space":   second(b.Space(t.Context())),
			"remove":  b.Remove(t.Context(), storage.Identity{Name: db, UUID: "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg", Tags: tags}),
			"group":   c.Locks.Stuck("vg0"),
		} {
			if !errors.Is(err, storage.ErrStuck) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if took := time.Since(start); took != patience {
			t.Errorf("a stuck group was waited for, %s", took-patience)
		}
		if err := c.Locks.Stuck("vg1"); err != nil {
			t.Errorf("another group is stuck as well: %v", err)
		}
		if n := len(commands(m, "lvcreate")); n != 1 {
			t.Errorf("%d commands were run in it", n)
		}

		release()
		synctest.Wait()
		// It has ended, and did its work: the device is found, not made again.
		d, err := b.Create(t.Context(), spec)
		if err != nil || d.JustCreated {
			t.Errorf("after its end: %+v, %v", d, err)
		}
		if n := len(commands(m, "lvcreate")); n != 1 {
			t.Errorf("lvcreate was run %d times", n)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func wantStuck(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, storage.ErrStuck) {
		t.Fatalf("got %v, want ErrStuck", err)
	}
	if n := strings.Count(err.Error(), storage.ErrStuck.Error()); n != 1 {
		t.Errorf("it is said %d times: %v", n, err)
	}
}

// TestCommandLeftByAnEarlierAgent is found after a restart of the agent.
func TestCommandLeftByAnEarlierAgent(t *testing.T) {
	tests := map[string][]string{
		"vg0": {"lvcreate", "--yes", "--size", "4096b", "--name", "rvol-db.0.1", "vg0"},
		"vg1": {"lvremove", "--yes", "--select", `lv_uuid="x"`, "vg1/rvol-db.0.1"},
		"vg2": {"vgcreate", "--addtag", "a", "vg2", "/dev/sdb"},
		"vg3": {"vgchange", "--activate", "ay", "vg3"},
	}
	for vg, argv := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := storage.NewLocks()
			left := leftCommand{argv, make(chan struct{})}
			l.Keep(left)
			if err := l.Stuck(vg); !errors.Is(err, storage.ErrStuck) {
				t.Errorf("%q does not keep %s: %v", argv, vg, err)
			}
			close(left.done)
			synctest.Wait()
			if err := l.Stuck(vg); err != nil {
				t.Errorf("after its end: %v", err)
			}
			if err := l.Change(t.Context(), vg, func() error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTwoCommandsLeftInOneGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := storage.NewLocks()
		first := leftCommand{[]string{"vgchange", "vg0"}, make(chan struct{})}
		second := leftCommand{[]string{"vgchange", "vg0"}, make(chan struct{})}
		l.Keep(first)
		l.Keep(second)
		close(second.done)
		synctest.Wait()
		if err := l.Stuck("vg0"); !errors.Is(err, storage.ErrStuck) {
			t.Errorf("one still runs: %v", err)
		}
		close(first.done)
		synctest.Wait()
		if err := l.Change(t.Context(), "vg0", func() error { return nil }); err != nil {
			t.Errorf("both have ended: %v", err)
		}
	})
}

type leftCommand struct {
	argv []string
	done chan struct{}
}

func (leftCommand) Error() string           { return "left running" }
func (l leftCommand) Command() []string     { return l.argv }
func (l leftCommand) Done() <-chan struct{} { return l.done }

func TestWaitingForAGroupEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := storage.NewLocks()
		hold := make(chan struct{})
		go func() { _ = l.Change(t.Context(), "vg0", func() error { <-hold; return nil }) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := l.Change(ctx, "vg0", func() error { t.Error("run all the same"); return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(hold)
	})
}
