package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rvol/agent/decide"
	"rvol/agent/observe"
)

// satellite is the class that a LINSTOR satellite runs, as it stands in its
// command line.
const satellite = "com.linbit.linstor.core.Satellite"

// checkAlone refuses to work beside a LINSTOR satellite: both would think that
// DRBD resources and files which they do not know are theirs to remove. It
// looks at the command lines of all processes, because a satellite may run in
// a container as well as in linstor-satellite.service.
func checkAlone(root string) error {
	files, err := filepath.Glob(filepath.Join(root, "proc/[0-9]*/cmdline"))
	if err != nil {
		return fmt.Errorf("look for a LINSTOR satellite: %w", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), satellite) { // a process may end meanwhile
			return fmt.Errorf("a LINSTOR satellite runs on this machine (process %s): stop it with "+
				"`systemctl disable --now linstor-satellite` before starting rvol-agent", filepath.Base(filepath.Dir(file)))
		}
	}
	return nil
}

// conditions are findings about the machine that get in the way sooner or later.
func (a *agent) conditions(l observe.LVMView, missingAddresses string) []decide.Condition {
	list := []decide.Condition{a.toolsCondition(), a.unitCondition(), a.helperCondition(), poolsCondition(l), good("AddressesPresent")}
	if missingAddresses != "" {
		list[len(list)-1] = bad("AddressesPresent", "Missing", missingAddresses)
	}
	return append(list, a.frozenCondition())
}

func good(kind string) decide.Condition {
	return decide.Condition{Type: kind, Status: "True", Reason: "OK"}
}

func bad(kind, reason, message string) decide.Condition {
	return decide.Condition{Type: kind, Status: "False", Reason: reason, Message: message}
}

func (a *agent) toolsCondition() decide.Condition {
	const kind = "ToolsRespond"
	if a.Stuck != nil {
		if stuck := a.Stuck(); len(stuck) > 0 {
			return bad(kind, "Stuck", strings.Join(stuck, "; ")+": if the disk below does not answer any more, only a reboot ends this")
		}
	}
	return good(kind)
}

// unitCondition: drbd.service brings up and down all resources it finds, ours
// among them.
func (a *agent) unitCondition() decide.Condition {
	const kind = "DRBDServiceDisabled"
	wanted, _ := filepath.Glob(filepath.Join(a.Root, "etc/systemd/system/*.wants/drbd*.service")) // the pattern is well-formed
	if len(wanted) > 0 {
		unit := filepath.Base(wanted[0])
		return bad(kind, "Enabled", unit+" is enabled and would bring rvol's resources up and down: run `systemctl disable "+unit+"`")
	}
	return good(kind)
}

// helperCondition: without its helper DRBD breaks off connections instead of
// resyncing.
func (a *agent) helperCondition() decide.Condition {
	const kind = "DRBDHelperUsable"
	b, err := os.ReadFile(filepath.Join(a.Root, "sys/module/drbd/parameters/usermode_helper"))
	if errors.Is(err, fs.ErrNotExist) {
		return decide.Condition{Type: kind, Status: "Unknown", Reason: "NotLoaded", Message: "the DRBD module is not loaded"}
	}
	helper := strings.TrimSpace(string(b))
	if err == nil && helper != "disabled" {
		_, err = os.Stat(filepath.Join(a.Root, helper))
	}
	if err != nil {
		return bad(kind, "Missing", fmt.Sprintf("DRBD's helper %q cannot be run (%v): install drbd-utils, or set the module parameter usermode_helper", helper, err))
	}
	return good(kind)
}

func poolsCondition(l observe.LVMView) decide.Condition {
	const kind = "ThinPoolsRefuseWhenFull"
	for _, vg := range l.VGs {
		for _, pool := range vg.ThinPools {
			if !pool.ErrorWhenFull {
				return bad(kind, "Queues", fmt.Sprintf("thin pool %s/%s lets writes wait when it is full: run `lvchange --errorwhenfull y %s/%s`",
					vg.Name, pool.Name, vg.Name, pool.Name))
			}
		}
	}
	return good(kind)
}
