package agent

import (
	"fmt"
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
func (a *agent) conditions(l observe.LVMView) []decide.Condition {
	list := append([]decide.Condition{a.toolsCondition()}, preflight(a.Root, l, a.drbd.ViewOf(""))...)
	return append(list, a.addressesCondition(), a.frozenCondition())
}

// addressesCondition says whether others reach this machine where the node registered.
func (a *agent) addressesCondition() decide.Condition {
	const kind = "AddressesPresent"
	_, missing := a.Addresses.Present()
	text := whyMissing(missing)
	if why := a.health.trouble(); why != "" {
		text = join(text, fmt.Sprintf("health door %s: %s", a.health.text(), why))
	}
	if text != "" {
		return bad(kind, "Missing", text)
	}
	return good(kind)
}

// preflight looks for settings of the machine, whose files are below root, that
// others made and that harm volumes.
func preflight(root string, l observe.LVMView, d observe.DRBDView) []decide.Condition {
	return []decide.Condition{
		unitCondition(root), helperCondition(root, d), includeCondition(root), versionCondition(d),
		filterCondition(root, l), multipathCondition(root), poolsCondition(l),
	}
}

func good(kind string) decide.Condition {
	return decide.Condition{Type: kind, Status: "True", Reason: "OK"}
}

func bad(kind, reason, message string) decide.Condition {
	return decide.Condition{Type: kind, Status: "False", Reason: reason, Message: message}
}

func unknown(kind, reason, message string) decide.Condition {
	return decide.Condition{Type: kind, Status: "Unknown", Reason: reason, Message: message}
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
