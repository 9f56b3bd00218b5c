package image

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// mirror is the Debian mirror that the host's own apt uses; the host need not have run apt-get update.
func (m *maker) mirror(ctx context.Context) (string, error) {
	if m.Mirror != "" {
		return m.Mirror, nil
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("find the Debian mirror: %w: set RVOL_LAB_MIRROR", err)
	}
	id, codename := osRelease(string(release))
	if id != "debian" {
		return "", fmt.Errorf("find the Debian mirror: this host is %s and its apt names none: set RVOL_LAB_MIRROR", id)
	}
	// it fails as an ordinary user after it has printed what is asked for
	printed, err := run(ctx, nil, "apt-get", "update", "--print-uris")
	if found := mirrorIn(printed, codename); found != "" {
		return found, nil
	}
	return "", errors.Join(errors.New("find the Debian mirror: this host's apt names none: set RVOL_LAB_MIRROR"), err)
}

func osRelease(text string) (id, codename string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			id = value
		case "VERSION_CODENAME":
			codename = value
		}
	}
	return id, codename
}

// mirrorIn finds Debian's own archive in what apt-get update --print-uris prints: the one that has NAME-updates, or else the one at /debian.
func mirrorIn(printed, codename string) string {
	var second string
	for s := bufio.NewScanner(strings.NewReader(printed)); s.Scan(); {
		uri, _, _ := strings.Cut(strings.TrimPrefix(s.Text(), "'"), "'")
		if base, ok := strings.CutSuffix(uri, "/dists/"+codename+"-updates/InRelease"); ok {
			return base
		}
		base, ok := strings.CutSuffix(uri, "/dists/"+codename+"/InRelease")
		if u, err := url.Parse(base); ok && err == nil && u.Path == "/debian" && second == "" {
			second = base
		}
	}
	return second
}
