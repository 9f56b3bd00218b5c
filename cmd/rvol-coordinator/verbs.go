package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"rvol/cmd/internal/program"
	"rvol/cmd/internal/version"
	"rvol/coordinator"
)

func run(ctx context.Context, args []string) error {
	o, err := parseRun(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	c, err := coordinator.OnThisMachine(ctx, o, version.String(), program.Log(o.Debug))
	if err != nil {
		return err
	}
	return coordinator.Run(ctx, c)
}

func initialize(_ context.Context, args []string) error {
	c, err := parseInit(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	c.Version = version.String()
	if err := coordinator.Init(c); err != nil {
		return err
	}
	fmt.Printf("coordinator %s is the first member of a new cluster\nnext: systemctl enable --now rvol-coordinator\n", c.Name)
	if c.AdminConfig != "" {
		fmt.Printf("rvol uses: %s\n", c.AdminConfig)
	}
	return nil
}

func join(ctx context.Context, args []string) error {
	c, err := parseJoin(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	c.Version = version.String()
	if err := coordinator.Join(ctx, c); err != nil {
		return err
	}
	fmt.Printf("coordinator %s is a member; it votes when it has caught up\nnext: systemctl enable --now rvol-coordinator\n", c.Name)
	return nil
}

func adminCert(ctx context.Context, args []string) error {
	o, err := parseAdminCert(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	c, err := coordinator.MakeAdminCert(ctx, o.socket, o.AdminCert)
	if err != nil {
		return err
	}
	if err := c.Save(o.out); err != nil {
		return err
	}
	fmt.Printf("%s may use the cluster %s as %s with: rvol --config %s\ncertificate: %s\n", o.Name, c.Cluster, o.Role, o.out, c.Fingerprint)
	if c.Note != "" {
		fmt.Fprintf(os.Stderr, "%s: note: %s\n", name, c.Note)
	}
	return nil
}

func recoverAlone(_ context.Context, args []string) error {
	c, err := parseRecover(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	c.Log = program.Log(false)
	c.Ask = func(text string) (string, error) {
		fmt.Print(text, "Type the name of this coordinator to go on: ")
		typed, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil && typed == "" {
			return "", fmt.Errorf("nothing was typed, nothing was done: %w", err)
		}
		return strings.TrimSpace(typed), nil
	}
	if err := coordinator.Recover(c); err != nil {
		return err
	}
	fmt.Println("this coordinator is the only one now\nnext: systemctl start rvol-coordinator, then: rvol cluster reconcile")
	return nil
}
