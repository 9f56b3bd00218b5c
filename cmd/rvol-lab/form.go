package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/vagrant"
)

// form is what the Vagrantfile runs when its last machine is up.
func (c *command) form() *cobra.Command {
	return &cobra.Command{
		Use:    "form",
		Short:  "Form a cluster of the Vagrantfile's machines, which are up",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return c.runForm(cmd.Context()) },
	}
}

func (c *command) runForm(ctx context.Context) error {
	w, err := vagrant.New(lab.Config{Nodes: vagrant.Nodes, Dir: c.dir()}, c.self)
	if err != nil {
		return err
	}
	if err := w.Reach(ctx); err != nil {
		return err
	}
	client := deploy.Client{Program: filepath.Join(filepath.Dir(c.self), "rvol"), Config: filepath.Join(c.dir(), "admin.yaml")}
	cluster := deploy.New(w, vagrant.Nodes, client, teller{})
	cluster.Install, cluster.Address = vagrant.Install, vagrant.Address
	if _, err := cluster.On(ctx, cluster.Nodes[0], "test -e /var/lib/rvol/coordinator/member.json"); err == nil {
		fmt.Println("there is a cluster already")
		return nil
	}
	if err := cluster.Up(ctx); err != nil {
		return err
	}
	if err := cluster.Formed(ctx, 5*time.Minute); err != nil {
		return err
	}
	_, err = cluster.On(ctx, cluster.Nodes[0], "install -D -m 600 -o vagrant -g vagrant /root/admin.yaml ~vagrant/.config/rvol/config.yaml; chown -R vagrant: ~vagrant/.config")
	fmt.Printf("a cluster: vagrant ssh n1 -c 'rvol status'; here: RVOL_CONFIG=%s rvol status\n", client.Config)
	return err
}

// teller prints what is done, a line each.
type teller struct{}

func (teller) Command(machine, line string)   { fmt.Printf("%s$ %s\n", machine, line) }
func (teller) Say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
