package drbdtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestInjectedFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		a, tool := p.nodes[0], p.tools[0]

		a.Inject(drbdtest.Fault{Match: "drbdsetup secondary", Skip: 1, Times: 1, Code: 11, Stderr: "r0: State change failed: (-12) Device is held open by someone"})
		p.ok(tool.Secondary(t.Context(), p.refs[0]))
		if err := tool.Secondary(t.Context(), p.refs[0]); !errors.Is(err, drbd.ErrHeldOpen) {
			t.Errorf("the second: got %v", err)
		}
		p.ok(tool.Secondary(t.Context(), p.refs[0]))

		a.Inject(drbdtest.Fault{Match: "primary", Times: 1, Code: 1, After: true})
		if err := tool.Primary(t.Context(), p.refs[0]); err == nil {
			t.Error("no error")
		}
		if r := p.status(0); r.Role != drbd.Primary {
			t.Errorf("it was to run first: %s", r.Role)
		}

		remove := a.Inject(drbdtest.Fault{Match: "status", Garble: func(b []byte) []byte { return b[:len(b)/2] }})
		if _, err := tool.StatusAll(t.Context()); !errors.Is(err, drbd.ErrGarbage) {
			t.Errorf("got %v, want ErrGarbage", err)
		}
		remove()
		_ = p.status(0)

		p.ok(tool.Secondary(t.Context(), p.refs[0]))
		remove = a.Inject(drbdtest.Fault{Match: "drbdsetup primary", Hang: true})
		time.AfterFunc(time.Minute, remove)
		p.ok(tool.Primary(t.Context(), p.refs[0]))
		if r := p.status(0); r.Role != drbd.Primary {
			t.Errorf("what hung is to do its work when it goes on: %s", r.Role)
		}

		a.Inject(drbdtest.Fault{Match: "drbdadm adjust r0", Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := tool.Adjust(ctx, p.refs[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		if ran := a.Ran(); ran[len(ran)-1] != "drbdadm -c /r0.res adjust r0" {
			t.Errorf("ran %q", ran[len(ran)-1])
		}
	})
}

func TestEventStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		ends := map[string]func(){
			"killed":   p.nodes[0].EndStreams,
			"no power": p.nodes[0].PowerOff,
		}
		for _, how := range []string{"killed", "no power"} {
			done := make(chan error)
			go func() {
				done <- drbd.Follow(t.Context(), p.nodes[0].Follow, func(drbd.Event) error { return nil })
			}()
			synctest.Wait()
			ends[how]()
			if err := <-done; err == nil {
				t.Errorf("%s: no error", how)
			}
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		p.fabric.Cut("a", "b")
		ended := make(chan error, 2)
		go func() { ended <- p.nodes[0].Write(t.Context(), minor, 0, []byte("x")) }()
		go func() {
			ended <- p.nodes[0].Follow(t.Context(), []string{"drbdsetup", "events2", "--timestamps", "--statistics"}, func([]byte) error { return nil })
		}()
		synctest.Wait()
		p.fabric.Close()
		for range 2 {
			if err := <-ended; err == nil {
				t.Error("ended without error")
			}
		}
		if _, err := p.tools[0].StatusAll(t.Context()); err == nil {
			t.Error("commands go on")
		}
	})
}

func TestNodeWithoutPowerAnswersNothing(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.nodes[0].PowerOff()
		if _, err := p.tools[0].StatusAll(t.Context()); err == nil {
			t.Error("status answered")
		}
		if _, err := p.nodes[0].Read(t.Context(), minor, 0, 1); err == nil {
			t.Error("read answered")
		}
		if n := p.disks[0].Disk(disk).Opens(); n != 0 {
			t.Errorf("disk open %d times", n)
		}
		p.nodes[0].PowerOn()
		all, err := p.tools[0].StatusAll(t.Context())
		if err != nil || len(all) != 0 {
			t.Errorf("after boot: %v, %v", all, err)
		}
	})
}

func TestFilesThatDrbdadmWouldNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := drbdtest.NewFabric()
		defer f.Close()
		for says, text := range map[string]string{
			"unexpected 'tiebreak no'":      "resource r0 { net { tiebreak no; } }",
			"unexpected end of file":        "resource r0 {",
			"unexpected \"\"":               "resource r0",
			"unexpected \"}\"":              "}",
			"unexpected \";\"":              "resource r0 { ; }",
			"not defined":                   "resource r1 { }",
			"node-id missing":               `resource r0 { on n { volume 0 { device minor 1; disk none; } } }`,
			"device or disk missing":        `resource r0 { on n { node-id 1; volume 0 { device minor 1; } } }`,
			"host 'm' that is not defined":  `resource r0 { on n { node-id 1; } connection { path { host "n" address ipv4 1.1.1.1:1; host "m" address ipv4 1.1.1.2:1; } } }`,
			"'host n' in path":              `resource r0 { on n { node-id 1; } connection { path { host n; } } }`,
			"unexpected 'size' in volume":   `resource r0 { on n { node-id 1; volume 0 { device minor 1; disk none; size 1; } } }`,
			"unexpected section disk":       `resource r0 { on n { node-id 1; disk { } } }`,
			"not defined in your config":    `resource r0 { on m { node-id 1; } }`,
			"unexpected \"{\"":              `resource r0 { { } }`,
			"volume 0: not a number":        `resource r0 { on n { node-id 1; volume 0 { device minor x; disk none; } } }`,
			"unexpected 'a b c' in section": `resource r0 { options { a b c; } }`,
		} {
			n := f.AddNode(drbdtest.NodeConfig{Name: "n", Version: drbdtest.V9, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
			err := drbd.New(n.Run, drbdtest.V9).Check(t.Context(), drbd.Ref{Name: "r0", File: "/r0.res"})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: got %v", says, err)
			}
		}
	})
}
