package drbd_test

import (
	"bytes"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// seed gives every recording to a fuzz target.
func seed(f *testing.F) {
	f.Helper()
	names, err := filepath.Glob("testdata/*/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if strings.Contains(name, "events2-") || strings.Contains(name, "golden") || strings.Contains(name, "res") {
			continue
		}
		f.Add(readRecording(f, name).stdout)
	}
}

func FuzzParseStatus(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		resources, err := drbd.ParseStatus(text)
		if err != nil {
			return
		}
		for _, r := range resources {
			check(t, r)
		}
	})
}

func FuzzParseDump(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		resources, err := drbd.ParseDump(text)
		if err != nil {
			return
		}
		for _, r := range resources {
			check(t, r)
		}
	})
}

// check is what holds for every resource that was parsed.
func check(t *testing.T, r drbd.Resource) {
	t.Helper()
	for _, d := range r.Devices {
		if d.Size < 0 {
			t.Errorf("size %d", d.Size)
		}
	}
	for _, p := range r.Peers {
		for _, d := range p.Devices {
			if d.OutOfSync < 0 || !(d.Done >= 0 && d.Done <= 100 || d.Done == drbd.Untold && d.Repl.Comparing()) {
				t.Errorf("out of sync %d, done %f", d.OutOfSync, d.Done)
			}
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	for line := range bytes.Lines(readStream(f, "9.3.3/events2-n1-stat-boot2.txt")) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := drbd.ParseEvent(line)
		if err != nil {
			return
		}
		table := drbd.NewTable()
		if table.Apply(e) == nil && e.Object == drbd.ResourceEvent && e.Kind == drbd.Create {
			if _, ok := table.Resource(e.Name()); !ok {
				t.Errorf("%s is not there", e.Name())
			}
		}
	})
}

func FuzzParseCommands(f *testing.F) {
	seed(f)
	f.Fuzz(func(_ *testing.T, text []byte) {
		commands, err := drbd.ParseCommands(text)
		if err != nil {
			return
		}
		for _, c := range commands {
			_ = c.Loss(map[drbd.Minor]int64{0: 1 << 30})
		}
	})
}

func FuzzParseMetadata(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if md, err := drbd.ParseDumpMD(text); err == nil && md.Size < 0 {
			t.Errorf("size %d", md.Size)
		}
		if _, err := drbd.ParseGI(text); err != nil {
			return
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if v, err := drbd.ParseVersion(text); err == nil && v.String() == "" {
			t.Error("no text")
		}
	})
}

// FuzzRender: whatever the names are, a file that is rendered has as many
// sections as it should, and no line more.
func FuzzRender(f *testing.F) {
	f.Add("db-1", "n1", "/dev/vg0/r0", "s3cret", "sha256")
	f.Add("r0 {", "n1\n", `/dev/"`, `"; }`, "sha256; }")
	want, err := pair().Render(drbdtest.V9)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, resource, host, disk, secret, alg string) {
		c := pair()
		c.Resource, c.This, c.Secret = resource, host, drbd.Secret(secret)
		c.Hosts[0] = drbd.Host{Name: host, Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1")}}
		c.Volumes[0].Disk = disk
		c.Options.HMACAlg = alg
		got, err := c.Render(drbdtest.V9)
		if err != nil {
			return
		}
		for _, sign := range []string{"{", "}", ";", "\n", `"`, "#"} {
			wanted := bytes.Count(want, []byte(sign))
			if disk == "" && (sign == `"` || sign == ";" || sign == "\n") {
				continue // diskless: fewer lines
			}
			if n := bytes.Count(got, []byte(sign)); n != wanted {
				t.Errorf("%d times %q, want %d:\n%s", n, sign, wanted, got)
			}
		}
	})
}
