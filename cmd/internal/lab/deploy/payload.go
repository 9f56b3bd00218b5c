package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rvol/packaging"
)

// programs are what a node runs; they lie beside rvol-lab.
var programs = []string{"rvol", "rvol-agent", "rvol-coordinator"} // a list that nobody changes

// The daemons of a lab say everything, and notice a dead node in seconds. Their machines share the cores of one: a leader that waits
// for a core is not dead. Whoever is in their network may watch them.
const (
	agentEnv       = "RVOL_AGENT_DEBUG=true\nRVOL_AGENT_METRICS=:7173\n"
	coordinatorEnv = "RVOL_COORDINATOR_DEBUG=true\nRVOL_COORDINATOR_HEARTBEAT=2s\nRVOL_COORDINATOR_NOT_READY_AFTER=10s\nRVOL_COORDINATOR_ELECTION=2s\nRVOL_COORDINATOR_METRICS=:7172\n"
)

// Payload makes the folder that is laid at /opt/rvol of each node: the programs of bin, the units and the files that a package would install.
func Payload(dir, bin string) error {
	if err := emptied(dir); err != nil {
		return err
	}
	for _, p := range programs {
		if err := copyProgram(filepath.Join(bin, p), filepath.Join(dir, "bin", p)); err != nil {
			return fmt.Errorf("lay %s into the payload: %w: make build makes it", p, err)
		}
	}
	err := errors.Join(
		lay("systemd", filepath.Join(dir, "etc/systemd/system")),
		lay("sysusers.d", filepath.Join(dir, "etc/sysusers.d")),
		lay("modules-load.d", filepath.Join(dir, "etc/modules-load.d")),
		lay("udev", filepath.Join(dir, "etc/udev/rules.d")),
		write(filepath.Join(dir, "etc/rvol/agent.env"), []byte(agentEnv)),
		write(filepath.Join(dir, "etc/rvol/coordinator.env"), []byte(coordinatorEnv)),
	)
	if err != nil {
		return fmt.Errorf("make the payload: %w", err)
	}
	return nil
}

// Packages makes a payload of folders of packages, by name, instead: installing them is left to the nodes. The settings that a lab wants
// are beside the units, so that those of the packages stay as they are.
func Packages(dir string, folders map[string]string) error {
	if err := emptied(dir); err != nil {
		return err
	}
	for name, from := range folders {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(from)); err != nil {
			return fmt.Errorf("lay the packages %s into the payload: %w", name, err)
		}
	}
	settings := func(program, env string) error {
		text := "[Service]\nEnvironment=" + strings.ReplaceAll(strings.TrimSpace(env), "\n", "\nEnvironment=") + "\n"
		return write(filepath.Join(dir, "etc/systemd/system", program+".service.d/lab.conf"), []byte(text))
	}
	return errors.Join(
		settings("rvol-agent", agentEnv), settings("rvol-coordinator", coordinatorEnv),
	)
}

func emptied(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("make the payload: %w", err)
	}
	return nil
}

// lay copies the files of one folder of the packaging.
func lay(from, to string) error {
	entries, err := fs.ReadDir(packaging.Files, from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(packaging.Files, from+"/"+e.Name())
		if err != nil {
			return err
		}
		if err := write(filepath.Join(to, e.Name()), text); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755) // a program
}
