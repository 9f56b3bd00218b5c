// Command gen writes rvol's man pages and shell completions into the folders man and completions of the folder it is given.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"rvol/cmd/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIR")
		os.Exit(2)
	}
	if err := generate(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes the same bytes for the same commands, whenever and wherever it runs.
func generate(ctx context.Context, dir string) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", d, err)
		}
	}
	all := pages(cli.New(cli.Env{}))
	output, err := outputPage()
	if err != nil {
		return fmt.Errorf("write the page of the output: %w", err)
	}
	all["rvol-output.7"] = output
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(man, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the page %s: %w", name, err)
		}
	}
	for shell, name := range map[string]string{"bash": "rvol", "zsh": "_rvol", "fish": "rvol.fish"} {
		if err := completion(ctx, shell, filepath.Join(completions, name)); err != nil {
			return fmt.Errorf("write the completion for %s: %w", shell, err)
		}
	}
	return nil
}

func completion(ctx context.Context, shell, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if code := cli.Run(ctx, cli.Env{Stdout: f}, []string{"completion", shell}); code != 0 {
		return fmt.Errorf("rvol completion: exit status %d", code)
	}
	return f.Close()
}
