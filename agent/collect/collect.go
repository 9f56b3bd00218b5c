package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"rvol/proto/redact"
)

// File is one file of the bundle.
type File struct {
	Name    string // path below the node's folder
	Data    []byte
	Missing string // why the file, or a part of it, is not there; empty: it is whole

	done bool // nothing else comes from where it came from
}

// Node is the machine that is looked at.
type Node struct {
	Run     func(ctx context.Context, argv ...string) ([]byte, error)
	Root    string                 // where /etc and /proc are
	Facts   func() any             // what the agent knows, to be written as JSON
	Secrets func() [][]byte        // that the agent knows
	Metrics func() ([]byte, error) // what the agent tells monitoring
}

// maxFile bounds one file, in bytes.
const maxFile = 4 << 20

// tool is one command whose output is collected.
type tool struct {
	file string
	argv []string
	log  bool // its end matters more than its beginning
}

var tools = []tool{ // a list that nobody changes
	{"journal.txt", []string{
		"journalctl", "--no-pager", "--quiet", "--utc", "--output=short-iso-precise", "--lines=20000",
		"--unit=rvol-agent.service", "--unit=rvol-coordinator.service", "--unit=rvol-attach@*", "--unit=rvol-tool-*", "--unit=drbd*", "--unit=lvm2-*",
	}, true},
	{"kernel.txt", []string{"journalctl", "--no-pager", "--quiet", "--utc", "--output=short-iso-precise", "--lines=10000", "--dmesg"}, true},
	{"drbd-status.txt", []string{"drbdsetup", "status", "--verbose", "--statistics"}, false},
	{"drbd-events.txt", []string{"drbdsetup", "events2", "--now", "--statistics"}, false},
	{"drbd-show.txt", []string{"drbdsetup", "show", "--show-defaults"}, false},
	{"drbd-version.txt", []string{"drbdadm", "--version"}, false},
	{"lvm.json", []string{"lvm", "fullreport", "--config", "log/report_command_log=0", "--reportformat", "json", "--units", "b", "--nosuffix"}, false},
	{"dmsetup-info.txt", []string{"dmsetup", "info", "-c"}, false},
	{"dmsetup-table.txt", []string{"dmsetup", "table"}, false},
	{"dmsetup-status.txt", []string{"dmsetup", "status"}, false},
}

// patterns are the files that are collected, below the root.
var patterns = []string{ // a list that nobody changes
	"proc/drbd", "proc/loadavg", "proc/meminfo", "proc/uptime", "proc/version", "etc/os-release",
	"etc/drbd.conf", "etc/drbd.d/*.conf", "etc/drbd.d/*.res", "etc/drbd.d/rvol/*.res", "etc/rvol/agent.env",
}

// Collect hands over file after file as they come, of at most limit bytes together. What is not there when ctx ends
// is named.
func (n Node) Collect(ctx context.Context, limit int64, out func(File) error) error {
	clean := redact.New(n.Secrets()...)
	files := make(chan File)
	stop := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer close(stop)
	hand := func(f File) {
		select {
		case files <- f:
		case <-stop:
		}
	}
	for _, t := range tools {
		all.Go(func() { hand(n.ask(ctx, t)) })
	}
	all.Go(func() {
		for _, f := range n.own() {
			hand(f)
		}
		hand(File{done: true})
	})
	for left := len(tools) + 1; left > 0; {
		f := <-files
		if f.done {
			left--
		}
		if f.Name == "" {
			continue
		}
		f.Data, f.Missing = clean.Clean(f.Data), string(clean.Clean([]byte(f.Missing)))
		if limit -= int64(len(f.Data)); limit < 0 {
			f.Data, f.Missing = nil, "left out: what this node may send is used up"
			limit = 0
		}
		if err := out(f); err != nil {
			return err
		}
	}
	return nil
}

// ask runs a tool.
func (n Node) ask(ctx context.Context, t tool) File {
	data, err := n.Run(ctx, t.argv...)
	f := cut(File{Name: t.file, Data: data, done: true}, t.log)
	if err != nil {
		f.Missing = fmt.Sprintf("%s: %s", strings.Join(t.argv[:min(2, len(t.argv))], " "), err)
	}
	return f
}

// own is what needs no tool.
func (n Node) own() []File {
	var list []File
	facts, err := json.MarshalIndent(n.Facts(), "", "  ")
	list = append(list, made("agent.json", facts, err))
	metrics, err := n.Metrics()
	list = append(list, made("metrics.txt", metrics, err))
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(filepath.Join(n.Root, pattern)) // the patterns are well-formed
		for _, path := range paths {
			name, err := filepath.Rel(n.Root, path)
			if err == nil {
				list = append(list, n.file(path, filepath.Join("files", name)))
			}
		}
	}
	return list
}

func (n Node) file(path, name string) File {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it went away meanwhile")
	}
	return made(name, data, err)
}

func made(name string, data []byte, err error) File {
	f := cut(File{Name: name, Data: data}, false)
	if err != nil {
		f.Missing = err.Error()
	}
	return f
}

// cut shortens a file that is too long, at the end of a line.
func cut(f File, log bool) File {
	over := len(f.Data) - maxFile
	if over <= 0 {
		return f
	}
	if log {
		f.Data = f.Data[over:]
		f.Data = f.Data[bytes.IndexByte(f.Data, '\n')+1:]
		f.Missing = fmt.Sprintf("the first %d bytes were left out", over)
		return f
	}
	f.Data = f.Data[:maxFile]
	f.Data = f.Data[:bytes.LastIndexByte(f.Data, '\n')+1]
	f.Missing = fmt.Sprintf("the last %d bytes were left out", over)
	return f
}
