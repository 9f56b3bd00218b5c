package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachine(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/sys/kernel/random/boot_id", "0f5b2b5e-5a3c-4d3b-9d5e-0a1b2c3d4e5f\n")
	write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
	m, err := ReadMachine(root)
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if m.HostName != name || m.Kernel == "" || m.BootID != "0f5b2b5e-5a3c-4d3b-9d5e-0a1b2c3d4e5f" || m.MachineID != "0123456789abcdef0123456789abcdef" {
		t.Errorf("got %+v", m)
	}
	for _, bad := range []string{"", "uninitialized\n", "0123456789abcdef0123456789abcdeg"} {
		write("etc/machine-id", bad)
		if m, err := ReadMachine(root); err == nil {
			t.Errorf("%q gave %+v", bad, m)
		}
	}
	if _, err := ReadMachine(t.TempDir()); err == nil {
		t.Error("no identity, and no error")
	}
}
