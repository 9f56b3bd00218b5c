package browse

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
)

// Open shows a link in the person's own browser. The link is a secret, and everybody may read the arguments of a
// process: the browser is given a file that leads there, which nobody else can read.
func Open(ctx context.Context, link string) error {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "rvol-"); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, "rvol-dashboard.html")
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	page := fmt.Sprintf("<!doctype html><meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0;url=%s\">\n", html.EscapeString(link))
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		return err
	}
	return exec.CommandContext(ctx, "xdg-open", path).Run()
}
