package deploytest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/vagrant"
)

// Virtual says that tests run on the machines of the Vagrantfile: LAB=vagrant.
func Virtual() bool { return os.Getenv("LAB") == "vagrant" }

var machines sync.Mutex // one test at a time has them

// upVirtual makes a cluster of the Vagrantfile's machines. rvol is that of the packages on them.
func upVirtual(tb testing.TB, bin string, nodes int) *deploy.Cluster {
	tb.Helper()
	machines.Lock()
	tb.Cleanup(machines.Unlock)
	dir := tb.TempDir()
	w, err := vagrant.New(lab.Config{Nodes: nodes, Dir: dir}, filepath.Join(bin, "rvol-lab"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Up(tb.Context(), tb.Output()); err != nil {
		tb.Fatal(err)
	}
	c := deploy.New(w, nodes, deploy.Client{Program: filepath.Join(bin, "rvol"), Config: filepath.Join(dir, "admin.yaml")}, quiet{})
	c.Install, c.Address = vagrant.Install, vagrant.Address
	tb.Cleanup(func() { keepLogs(tb, c) })
	if err := c.Up(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := c.Formed(tb.Context(), 5*time.Minute); err != nil {
		tb.Fatal(err)
	}
	return c
}
