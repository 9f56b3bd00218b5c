package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// apt is apt-get with lists and cache of its own, beside those of the host. The host's configuration
// (proxy, certificates) stays in force, its hooks do not.
type apt struct {
	dir  string
	args []string
}

const aptConf = `#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::Etc::SourceList "%[1]s/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "%[1]s";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
`

const sources = `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %[1]s forky main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %[1]s sid main
`

func newApt(dir, mirror string) (*apt, error) {
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	conf := filepath.Join(dir, "apt.conf")
	for name, text := range map[string]string{
		"apt.conf": fmt.Sprintf(aptConf, dir), "sources.list": fmt.Sprintf(sources, mirror), "status": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return &apt{dir: dir, args: []string{"apt-get", "-qq", "-c", conf}}, nil
}

// update reads the package lists and says whether they are past their Valid-Until; their signature holds in any case.
func (a *apt) update(ctx context.Context) (expired bool, err error) {
	printed, err := run(ctx, nil, append(a.args, "update")...)
	if !pastValidUntil(printed) {
		return false, err
	}
	a.args = append(a.args, "-o", "Acquire::Check-Valid-Until=false")
	_, err = run(ctx, nil, append(a.args, "update")...)
	return true, err
}

// pastValidUntil recognizes what apt says of an expired list: "Release file for ... is expired (invalid since ...)"
// (apt-pkg/acquire-item.cc, pkgAcqMetaBase::VerifyVendor).
func pastValidUntil(printed string) bool {
	return strings.Contains(printed, "Release file for") && strings.Contains(printed, "is expired")
}

// download fetches one package and returns its file.
func (a *apt) download(ctx context.Context, pkg string) (string, error) {
	folder := filepath.Join(a.dir, "debs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	argv := append([]string{"env", "-C", folder}, a.args...)
	if _, err := run(ctx, nil, append(argv, "download", pkg)...); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.deb"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("download %s: %d files came", pkg, len(found))
	}
	return found[0], nil
}
