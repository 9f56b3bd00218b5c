//go:build kernellab

package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rvol/cmd/internal/lab/deploy/deploytest"
	"rvol/cmd/internal/lab/script"
)

// TestTheGuideInstallsACluster types what the guide's chapter says, on machines that have the packages and nothing else.
func TestTheGuideInstallsACluster(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../packaging/doc/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := script.Chapters(string(text))["Install"].Shell
	if len(blocks) != 3 {
		t.Fatalf("the chapter has %d blocks for machines, want a coordinator's, a node's and a person's", len(blocks))
	}
	debs := filepath.Join(t.TempDir(), "debs")
	if err := deploytest.Packages(debs, "0.0.1"); err != nil {
		t.Fatal(err)
	}
	c := deploytest.Machines(t, bin, 2, map[string]string{"debs": debs})
	types := func(node, before, block string) string {
		t.Helper()
		out, err := c.On(t.Context(), node, "set -e; mkdir -p /run/typed; cd /run/typed; cp -n /opt/rvol/debs/*.deb .; export HOME=/root "+before+"\n"+block)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	eventually := func(text, command string) {
		t.Helper()
		types("n1", "", "for i in $(seq 300); do "+command+" | grep -q '"+text+"' && break; sleep 0.2; done; "+command+" | grep '"+text+"'")
	}
	types("n1", "", blocks[0])
	eventually("LEADER *n1", "rvol cluster status")
	token := types("n1", "", "rvol token create node --name n2 --quiet")
	types("n2", "TOKEN="+strings.TrimSpace(token)+" COORDINATOR=n1", blocks[1])
	eventually("n2 *Ready", "rvol node list")
	types("n1", "", blocks[2])
	if out := types("n1", "RVOL_CONFIG=maria.yaml", "rvol node list"); !strings.Contains(out, "n2") {
		t.Errorf("maria sees\n%s", out)
	}
	if _, err := c.On(t.Context(), "n1", "RVOL_CONFIG=/run/typed/maria.yaml rvol token create node"); err == nil {
		t.Error("an operator let somebody in")
	}
}
