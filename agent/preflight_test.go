package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/drbd"
	"rvol/lvm"
)

// sound is a machine with nothing to be said against it.
func sound() (files map[string]string, l observe.LVMView, d observe.DRBDView) {
	files = map[string]string{
		"sbin/drbdadm": "",
		"sys/module/drbd/parameters/usermode_helper": "/sbin/drbdadm\n",
		"etc/drbd.conf":                        "include \"drbd.d/global_common.conf\";\ninclude \"drbd.d/*.res\";\n",
		"usr/sbin/multipathd":                  "",
		"etc/multipath/conf.d/drbd.conf":       "blacklist {\n        devnode \"^drbd[0-9]+\"\n}\n",
		"etc/lvm/devices/system.devices":       "# drbd: /dev/drbd0\nIDTYPE=sys_wwid IDNAME=naa.5 DEVNAME=/dev/sda PVID=x\n",
		"etc/systemd/system/x.wants/a.service": "",
	}
	l = observe.LVMView{
		Settings: lvm.Settings{GlobalFilter: []string{"r|^/dev/drbd|", "r|^/dev/rvol/|"}, Filter: []string{"a|.*|"}},
		VGs:      []decide.VG{{Name: "vg0", ThinPools: []decide.ThinPool{{Name: "tp", ErrorWhenFull: true}}}},
	}
	return files, l, observe.DRBDView{Seen: true, Version: drbd.Version{Kernel: drbd.Number{Major: 9, Minor: 3, Patch: 3}}}
}

func TestPreflight(t *testing.T) {
	type machine struct {
		files map[string]string
		l     *observe.LVMView
		d     *observe.DRBDView
	}
	kernel := func(major, minor, patch int) func(machine) {
		return func(m machine) { m.d.Version.Kernel = drbd.Number{Major: major, Minor: minor, Patch: patch} }
	}
	for _, tc := range []struct {
		name   string
		change func(m machine)
		want   string // type=status; "": nothing to be said
		says   []string
	}{
		{"a sound machine", func(machine) {}, "", nil},
		{
			"drbd.service is enabled", func(m machine) { m.files["etc/systemd/system/multi-user.target.wants/drbd.service"] = "" },
			"DRBDServiceDisabled=False",
			[]string{"systemctl disable drbd.service"},
		},
		{
			"a unit of one resource is enabled", func(m machine) { m.files["etc/systemd/system/multi-user.target.wants/drbd@rvol-db.target"] = "" },
			"DRBDServiceDisabled=False",
			[]string{"systemctl disable drbd@rvol-db.target"},
		},
		{
			"what promotes a resource is enabled", func(m machine) { m.files["etc/systemd/system/x.requires/drbd-promote@db.service"] = "" },
			"DRBDServiceDisabled=False",
			[]string{"systemctl disable drbd-promote@db.service"},
		},
		{"drbd-reactor is enabled", func(m machine) { m.files["etc/systemd/system/multi-user.target.wants/drbd-reactor.service"] = "" }, "", nil},
		{"the module is not loaded", func(m machine) {
			delete(m.files, "sys/module/drbd/parameters/usermode_helper")
			m.d.Version.Kernel = drbd.Number{}
		}, "DRBDHelperUsable=Unknown DRBDVersionSupported=Unknown", []string{"not loaded"}},
		{
			"the helper is not there", func(m machine) { delete(m.files, "sbin/drbdadm") },
			"DRBDHelperUsable=False",
			[]string{`"/sbin/drbdadm" cannot be run`, "install drbd-utils"},
		},
		{"the helper is disabled", func(m machine) { m.files["sys/module/drbd/parameters/usermode_helper"] = "disabled\n" }, "", nil},
		{"the helper is disabled on DRBD 8.4", func(m machine) {
			m.files["sys/module/drbd/parameters/usermode_helper"] = "disabled\n"
			m.d.Version.Kernel = drbd.Number{Major: 8, Minor: 4, Patch: 11}
		}, "DRBDHelperUsable=False", []string{"usermode_helper=/sbin/drbdadm"}},
		{
			"drbdadm does not read our files", func(m machine) { m.files["etc/drbd.conf"] = "include \"drbd.d/global_common.conf\";\n" },
			"DRBDReadsOurFiles=False",
			[]string{`include "drbd.d/*.res";`},
		},
		{"they are named with their whole path", func(m machine) { m.files["etc/drbd.conf"] = "  include \"/etc/drbd.d/*.res\" ;\n" }, "", nil},
		{"drbd-utils are not installed", func(m machine) { delete(m.files, "etc/drbd.conf") }, "DRBDReadsOurFiles=Unknown", []string{"install drbd-utils"}},
		{"DRBD 8.4", kernel(8, 4, 11), "", nil},
		{"DRBD 9.1", kernel(9, 1, 23), "DRBDVersionSupported=False", []string{"is 9.1.23", "update it"}},
		{"DRBD 9.2.18", kernel(9, 2, 18), "DRBDVersionSupported=False", []string{"is 9.2.18", "9.2.19"}},
		{"DRBD 9.2.19", kernel(9, 2, 19), "", nil},
		{"DRBD 9.3.2", kernel(9, 3, 2), "DRBDVersionSupported=False", []string{"is 9.3.2", "9.3.3"}},
		{
			"LVM filters nothing", func(m machine) { m.l.Settings.GlobalFilter = []string{"a|.*|"} },
			"LVMIgnoresDRBD=False",
			[]string{"global_filter", "/etc/lvm/lvmlocal.conf"},
		},
		{"LVM looks inside of volumes", func(m machine) { m.l.Settings.ScanLVs = true }, "LVMIgnoresDRBD=False", []string{"devices/scan_lvs=0"}},
		{"LVM has a list of devices", func(m machine) {
			m.l.Settings = lvm.Settings{DevicesFile: "system.devices", GlobalFilter: []string{"a|.*|"}}
		}, "", nil},
		{"a device of DRBD is on it", func(m machine) {
			m.l.Settings.DevicesFile = "system.devices"
			m.files["etc/lvm/devices/system.devices"] = "IDTYPE=devname IDNAME=/dev/drbd10000 DEVNAME=/dev/drbd10000 PVID=y\n"
		}, "LVMIgnoresDRBD=False", []string{"lvmdevices --deldev", "IDNAME=/dev/drbd10000"}},
		{"the list cannot be read", func(m machine) { m.l.Settings.DevicesFile = "other.devices" }, "LVMIgnoresDRBD=Unknown", []string{"other.devices"}},
		{"LVM's settings are not known", func(m machine) { m.l.SettingsErr = "lvmconfig: exit status 5" }, "LVMIgnoresDRBD=Unknown", []string{"exit status 5"}},
		{"a filter that makes no sense", func(m machine) { m.l.Settings.GlobalFilter = []string{"drbd"} }, "LVMIgnoresDRBD=Unknown", []string{`"drbd"`}},
		{
			"multipathd is not told of DRBD", func(m machine) { delete(m.files, "etc/multipath/conf.d/drbd.conf") },
			"MultipathIgnoresDRBD=False",
			[]string{`devnode "^drbd[0-9]+"`, "multipathd reconfigure"},
		},
		{"what it is told is a comment", func(m machine) {
			m.files["etc/multipath/conf.d/drbd.conf"] = "blacklist {\n #devnode \"^drbd[0-9]+\"\n devnode \"^sd\"\n}\n"
		}, "MultipathIgnoresDRBD=False", nil},
		{"it ignores all but some", func(m machine) {
			m.files["etc/multipath/conf.d/drbd.conf"] = "blacklist { devnode \"!^(sd[a-z]|dasd[a-z]|nvme[0-9])\" }\n"
		}, "", nil},
		{"it makes an exception", func(m machine) {
			m.files["etc/multipath.conf"] = "blacklist_exceptions {\n\tdevnode drbd\n}\n"
		}, "MultipathIgnoresDRBD=False", []string{"/etc/multipath.conf excepts"}},
		{"there is no multipathd", func(m machine) {
			delete(m.files, "etc/multipath/conf.d/drbd.conf")
			delete(m.files, "usr/sbin/multipathd")
		}, "", nil},
		{
			"a full pool lets writes wait", func(m machine) { m.l.VGs[0].ThinPools[0].ErrorWhenFull = false },
			"ThinPoolsRefuseWhenFull=False",
			[]string{"lvchange --errorwhenfull y vg0/tp"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			files, l, d := sound()
			tc.change(machine{files, &l, &d})
			root := t.TempDir()
			for name, text := range files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var got, messages []string
			for _, c := range preflight(root, l, d) {
				if c.Status != "True" {
					got, messages = append(got, c.Type+"="+c.Status), append(messages, c.Message)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			for _, text := range tc.says {
				if all := strings.Join(messages, "; "); !strings.Contains(all, text) {
					t.Errorf("%q does not say %q", all, text)
				}
			}
		})
	}
}
