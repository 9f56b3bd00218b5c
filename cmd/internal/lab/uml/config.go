package uml

import (
	"crypto/md5" // not for secrets: a machine id has its length
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// layerDevice is the last of the eight ubd devices that a kernel has: /dev/ubdh, where lab-init looks for the layer.
const layerDevice = 7

// Limits of a node.
const (
	MaxDisks  = layerDevice - 1
	MinMemory = 160 << 20 // bytes; with less LVM or DRBD do not finish
)

// Config says what a node boots from and what it has.
type Config struct {
	Name   string
	Dir    string // sockets, console; short, made if missing
	Kernel string
	Root   string // image of the root file system; it must never change under COW
	COW    string // what the node wrote to its root; made by the kernel if missing
	Layer  string // read-only image mounted at /opt/lab
	Disks  []string
	Memory int64 // bytes
	NICs   []NIC
	Hosts  []string // NAME:ADDRESS, for /etc/hosts
}

// NIC is one network interface.
type NIC struct {
	Socket  string // of the hub's port
	MAC     string
	Address string // with prefix length
}

// args is the kernel's command line.
//
// seccomp=on is the quick way to run user space (insecure only towards a hostile guest). noreboot makes a reboot
// end the process. The agent's serial line is descriptor 3.
func (c Config) args() []string {
	args := []string{
		"mem=" + strconv.FormatInt(c.Memory>>20, 10) + "M", "seccomp=on",
		"ubd0=" + c.COW + "," + c.Root, "root=/dev/ubda", "rw", "init=/usr/local/sbin/lab-init",
	}
	for i, disk := range c.Disks {
		args = append(args, fmt.Sprintf("ubd%d=%s", i+1, disk))
	}
	args = append(args, fmt.Sprintf("ubd%dr=%s", layerDevice, c.Layer),
		"systemd.hostname="+c.Name, "systemd.machine_id="+machineID(c.Name), "systemd.show_status=0",
		"printk.time=1", "random.trust_cpu=1", "fsck.mode=skip")
	var addresses []string
	for i, n := range c.NICs {
		// depth=64: a larger one only makes the kernel complain
		args = append(args, fmt.Sprintf("vec%d:transport=bess,dst=%s,depth=64,gro=1,mac=%s", i, n.Socket, n.MAC))
		addresses = append(addresses, fmt.Sprintf("vec%d:%s", i, n.Address))
	}
	return append(args, "lab.net="+strings.Join(addresses, ","), "lab.hosts="+strings.Join(c.Hosts, ","),
		"uml_dir="+c.Dir, "umid=uml", "con=null", "con0=null,fd:1", "ssl=null", "ssl0=fd:3", "noreboot")
}

// machineID is the same at every boot of a node of that name.
func machineID(name string) string {
	sum := md5.Sum([]byte(name)) // not for secrets
	return hex.EncodeToString(sum[:])
}

func (c Config) check() error {
	switch {
	case len(c.Disks) > MaxDisks:
		return fmt.Errorf("boot %s: %d data disks, at most %d", c.Name, len(c.Disks), MaxDisks)
	case c.Memory < MinMemory:
		return fmt.Errorf("boot %s: %d MiB of memory: LVM and DRBD need at least %d MiB", c.Name, c.Memory>>20, MinMemory>>20)
	}
	for _, path := range append([]string{c.COW, c.Root, c.Layer, c.Dir}, c.Disks...) {
		if strings.ContainsAny(path, ", \t\n") {
			return fmt.Errorf("boot %s: the path %q has a comma or a space, which the kernel's command line cannot carry", c.Name, path)
		}
	}
	return nil
}
