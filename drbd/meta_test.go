package drbd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

func TestDumpMDOfFreshMetadata(t *testing.T) {
	for name, want := range map[string]drbd.Metadata{
		"8.4.11/030-": {Format: "v08", Current: drbd.JustCreated, Device: 0xFFDD6F33096312F1, Peers: 1},
		"9.3.3/121-":  {Format: "v09", Current: drbd.JustCreated, Device: 0xDADCD05BC26C38A9, Peers: 7},
	} {
		got, err := drbd.ParseDumpMD(record(t, name).stdout)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDumpMDTellsSize(t *testing.T) {
	text := strings.Replace(string(record(t, "9.3.3/121-").stdout), "la-size-sect 0;", "la-size-sect 524104;", 1)
	got, err := drbd.ParseDumpMD([]byte(text))
	if err != nil || got.Size != 524104*512 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseDumpMDRefusesWhatItCannotRead(t *testing.T) {
	whole := string(record(t, "9.3.3/121-").stdout)
	for _, text := range []string{
		"", "Operation canceled.\n", whole[:300], strings.Replace(whole, `version "v09"`, `version "v07"`, 1),
		strings.Replace(whole, "current-uuid 0x0000000000000004", "current-uuid 4ever", 1),
		strings.Replace(whole, "max-peers 7", "max-peers x", 1),
		strings.Replace(whole, "la-size-sect 0", "la-size-sect -1", 1),
	} {
		if got, err := drbd.ParseDumpMD([]byte(text)); err == nil {
			t.Errorf("%.40q: got %+v", text, got)
		}
	}
}

func TestGenerations(t *testing.T) {
	for _, c := range []struct {
		name    string
		version drbd.Version
		want    drbd.UUID
	}{
		{"8.4.11/070-", drbdtest.V84, 0xCB8530099D8D25F3},
		{"9.3.3/260-", drbdtest.V9, 0xC735149B59BEA750},
		{"9.3.3/122-", drbdtest.V9, drbd.JustCreated},
	} {
		var ran []string
		tool := drbd.New(answers(record(t, c.name), &ran), c.version)
		got, err := tool.Generations(t.Context(), drbd.Ref{Name: "r0", Minors: []drbd.Minor{0}}, 1, 0)
		if err != nil || got.Current != c.want {
			t.Errorf("%s: got %+v, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, text := range []string{"", "C735149B59BEA750", "C735149B59BEA750:0:0", "x:0:0:0", "1:2:3:g"} {
		if got, err := drbd.ParseGI([]byte(text)); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

// The generations are those that kernels of DRBD 8.4 and 9 printed at their handshakes:
// "self" and "peer".
func TestCopiesThatWentApart(t *testing.T) {
	gi := func(line string) drbd.Generations {
		g, err := drbd.ParseGI([]byte(line + ":1:1:0:0:0:0:0"))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct {
		name, self, peer string
		want             bool
	}{
		{"8.4: split brain", "70A4743E6FD3BC08:CB8530099D8D25F2:0:0", "677B70373123ADDA:CB8530099D8D25F3:0:0", true},
		{"9: split brain", "F6C28428FB9F6AA2:4B1A1E6F3941D8B4:115364EE613F5844:61BFF65A54D68344", "BDCE98F3A03CF96A:4B1A1E6F3941D8B4:5C9AD8AC9DF4148A:115364EE613F5844", true},
		{"the same", "CB8530099D8D25F3:0:0:0", "CB8530099D8D25F2:0:0:0", false},
		{"one was written alone", "70A4743E6FD3BC08:CB8530099D8D25F2:0:0", "CB8530099D8D25F3:0:0:0", false},
		{"one was written alone twice", "70A4743E6FD3BC08:1111111111111110:CB8530099D8D25F2:0", "CB8530099D8D25F3:0:0:0", false},
		{"one was just created", "70A4743E6FD3BC08:0:0:0", "0000000000000004:0:0:0", false},
		{"unrelated", "70A4743E6FD3BC08:0:0:0", "BDCE98F3A03CF96A:0:0:0", true},
	} {
		for _, got := range []bool{gi(c.self).Apart(gi(c.peer)), gi(c.peer).Apart(gi(c.self))} {
			if got != c.want {
				t.Errorf("%s: apart: %t, want %t", c.name, got, c.want)
			}
		}
	}
}

func TestDevUUID(t *testing.T) {
	var ran []string
	d := drbd.MetaDev{Minor: 1000, Disk: "/dev/vg0/r0"}
	on := func(name string) *drbd.Tool { return drbd.New(answers(record(t, name), &ran), drbdtest.V9) }
	for name, want := range map[string]drbd.UUID{"utils-9.22.0/07-": 0, "utils-9.22.0/09-": 0xDADCD05BC26C38A9} {
		if got, err := on(name).ReadDevUUID(t.Context(), d); err != nil || got != want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	if err := on("utils-9.22.0/08-").WriteDevUUID(t.Context(), d, 0xDADCD05BC26C38A9); err != nil {
		t.Error(err)
	}
	if _, err := on("utils-9.22.0/06-").ReadDevUUID(t.Context(), d); !errors.Is(err, drbd.ErrNoMetadata) {
		t.Errorf("got %v, want ErrNoMetadata", err)
	}
	if err := on("utils-9.22.0/11-").WriteDevUUID(t.Context(), d, 1); !errors.Is(err, drbd.ErrNoMetadata) {
		t.Errorf("got %v, want ErrNoMetadata", err)
	}
	if err := on("utils-9.22.0/10-").WipeMD(t.Context(), d); err != nil {
		t.Error(err)
	}
}

func TestCreateMDWantsSlots(t *testing.T) {
	var ran []string
	tool := drbd.New(answers(recording{}, &ran), drbdtest.V9)
	for _, peers := range []int{-1, 0, 32} {
		if err := tool.CreateMD(t.Context(), drbd.MetaDev{Disk: "/dev/vg0/r0"}, peers); !errors.Is(err, drbd.ErrInvalid) {
			t.Errorf("%d slots: got %v", peers, err)
		}
	}
}
