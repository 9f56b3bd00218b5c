package uml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommandLineOfANode(t *testing.T) {
	c := Config{
		Name: "n1", Dir: "/run/lab/n1", Root: "/c/node.img", COW: "/c/n1/root.cow", Layer: "/c/layer.img",
		Disks: []string{"/c/n1/data1.img", "/c/n1/data2.img"}, Memory: 256 << 20,
		NICs: []NIC{
			{Socket: "/run/lab/net1/n1.sock", MAC: "02:00:00:00:01:01", Address: "10.77.0.1/24"},
			{Socket: "/run/lab/net2/n1.sock", MAC: "02:00:00:00:02:01", Address: "10.78.0.1/24"},
		},
		Hosts: []string{"n1:10.77.0.1", "n2:10.77.0.2"},
	}
	want := []string{
		"mem=256M", "seccomp=on",
		"ubd0=/c/n1/root.cow,/c/node.img", "root=/dev/ubda", "rw", "init=/usr/local/sbin/lab-init",
		"ubd1=/c/n1/data1.img", "ubd2=/c/n1/data2.img", "ubd7r=/c/layer.img",
		"systemd.hostname=n1", "systemd.machine_id=c82561ec215a6e31807ceedf3b3bd25e", "systemd.show_status=0",
		"printk.time=1", "random.trust_cpu=1", "fsck.mode=skip",
		"vec0:transport=bess,dst=/run/lab/net1/n1.sock,depth=64,gro=1,mac=02:00:00:00:01:01",
		"vec1:transport=bess,dst=/run/lab/net2/n1.sock,depth=64,gro=1,mac=02:00:00:00:02:01",
		"lab.net=vec0:10.77.0.1/24,vec1:10.78.0.1/24", "lab.hosts=n1:10.77.0.1,n2:10.77.0.2",
		"uml_dir=/run/lab/n1", "umid=uml", "con=null", "con0=null,fd:1", "ssl=null", "ssl0=fd:3", "noreboot",
	}
	if diff := cmp.Diff(want, c.args()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatANodeCannotBootFromIsRefused(t *testing.T) {
	good := Config{Name: "n1", Dir: "/run", Root: "/r", COW: "/c", Layer: "/l", Memory: 256 << 20}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		spoil      func(*Config)
	}{
		{"too little memory", "boot n1: 64 MiB of memory", func(c *Config) { c.Memory = 64 << 20 }},
		{"more disks than devices", "boot n1: 7 data disks, at most 6", func(c *Config) { c.Disks = make([]string, 7) }},
		{"a space in a path", "has a comma or a space", func(c *Config) { c.COW = "/home/a b/root.cow" }},
		{"a comma in a path", "has a comma or a space", func(c *Config) { c.Disks = []string{"/a,b"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := good
			c.spoil(&bad)
			if _, err := Boot(bad); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, wanted %s", err, c.want)
			}
		})
	}
}

func TestMemoryLivesOnATmpfs(t *testing.T) {
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	if got := memoryDir(env(nil)); got != sharedMemory {
		t.Errorf("without a TMPDIR: %s", got)
	}
	if got := memoryDir(env(map[string]string{"TMPDIR": "/proc", "TMP": "/nonexistent"})); got != sharedMemory {
		t.Errorf("with a TMPDIR that is no tmpfs: %s", got)
	}
	if got := memoryDir(env(map[string]string{"TMPDIR": "/proc", "TMP": "/dev/shm/"})); got != "/dev/shm/" {
		t.Errorf("with a TMP that is a tmpfs: %s", got)
	}
	if err := CheckMemory(1000, 1<<40); err == nil || !strings.Contains(err.Error(), "name a larger tmpfs in TMPDIR") {
		t.Error(err)
	}
}
