package image

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// hostTools are the programs this package runs; packaging/lab/host-packages.sh installs them.
var hostTools = [...]string{"apt-get", "dpkg-deb", "mmdebstrap", "fakeroot", "mke2fs", "depmod", "tar"}

// needTools says which tools the host lacks.
func needTools() error {
	var missing []string
	for _, tool := range hostTools {
		if _, err := exec.LookPath(tool); err != nil && !exists("/usr/sbin/"+tool) && !exists("/sbin/"+tool) {
			missing = append(missing, tool)
		}
	}
	if missing != nil {
		return fmt.Errorf("find %s: not installed: run packaging/lab/host-packages.sh", strings.Join(missing, ", "))
	}
	return nil
}

// run runs a host tool and returns what it printed; see, when not nil, is given each line as it comes.
func run(ctx context.Context, see func(line string), argv ...string) (string, error) {
	if err := needTools(); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	var all bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(io.TeeReader(r, &all)); s.Scan(); {
			if see != nil {
				see(s.Text())
			}
		}
		_, _ = io.Copy(&all, r) // a pipe of ours; the scanner stops at a line that is too long
	}()
	err := cmd.Run()
	w.Close()
	<-read
	if err != nil {
		return all.String(), fmt.Errorf("%s: %w: %s", argv[0], err, lastLines(all.String(), 8))
	}
	return all.String(), nil
}

// asRoot runs a script that sets owners of files: as root, or under fakeroot.
func (m *maker) asRoot(ctx context.Context, script string, args ...string) error {
	argv := append([]string{"sh", script}, args...)
	if os.Getuid() != 0 {
		argv = append([]string{"fakeroot", "--"}, argv...)
	}
	_, err := run(ctx, nil, argv...)
	return err
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
