package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/deploy/deploytest"
)

const (
	rounds      = 7
	formBudget  = 1.3
	volumeBytes = 128 << 20
	// What rvol asks of LVM for a volume of that size: with room for DRBD's metadata.
	backingBytes = 132 << 20
)

// BenchmarkFormation compares `rvol volume create --wait` with a shell script of the same LVM and DRBD commands: two replicas on
// thin pools, first data by clear-bitmap, interleaved on the same two nodes.
func BenchmarkFormation(b *testing.B) {
	bin := b.TempDir()
	if err := deploytest.Build(bin); err != nil {
		b.Fatal(err)
	}
	c := deploytest.Up(b, bin, 2)
	ctx := b.Context()
	for _, line := range []string{
		"lvg create n1 " + deploy.ThinVG + " --thin-pool " + deploy.ThinPool + " --wait",
		"lvg create n2 " + deploy.ThinVG + " --thin-pool " + deploy.ThinPool + " --wait",
		"class create fast --ftt 1 --gmdr 0 --type LVMThin --vg " + deploy.ThinVG + " --thin-pool " + deploy.ThinPool,
	} {
		rvol(b, c, line)
	}
	s := shell{c}
	if err := s.lay(ctx); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var ours, theirs []time.Duration
		for range rounds {
			ours = append(ours, timed(func() { rvol(b, c, fmt.Sprintf("volume create v --size %d --class fast --wait", volumeBytes)) }))
			rvol(b, c, "volume delete v --yes --wait")
			theirs = append(theirs, timed(func() { s.form(ctx, b) }))
			s.remove(ctx, b)
		}
		b.Logf("rvol %v, script %v", ours, theirs)
		report("formation", median(ours).Seconds()/median(theirs).Seconds(), formBudget)
	}
}

func timed(do func()) time.Duration {
	begun := time.Now()
	do()
	return time.Since(begun)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// report prints a ratio at the beginning of a line, where make bench looks for it.
func report(name string, value, budget float64) {
	verdict := "ok"
	if value > budget {
		verdict = "over"
	}
	fmt.Fprintf(os.Stdout, "\nRATIO %s %.2f budget %.1f %s\n", name, value, budget, verdict) // nobody to tell
}

func rvol(b *testing.B, c *deploy.Cluster, line string) {
	b.Helper()
	if _, err := c.Client.Text(b.Context(), strings.Fields(line)...); err != nil {
		b.Fatal(err)
	}
}

// shell is what an administrator would write instead of rvol.
type shell struct{ *deploy.Cluster }

const resource = `resource s {
  net { protocol C; cram-hmac-alg sha256; shared-secret secret; verify-alg crc32c; }
  disk { on-io-error detach; rs-discard-granularity 65536; }
  on n1 { device /dev/drbd1 minor 1; disk /dev/vg1/s; meta-disk internal; address 10.77.0.1:7789; }
  on n2 { device /dev/drbd1 minor 1; disk /dev/vg1/s; meta-disk internal; address 10.77.0.2:7789; }
}
`

var (
	formScript = fmt.Sprintf(`
lvcreate -qq -y -W n --type thin -V %db -n s --thinpool %s %s
drbdadm -- --force create-md s >/dev/null 2>&1
drbdadm up s
until drbdsetup status s | grep -q 'peer-disk:Inconsistent'; do sleep 0.05; done
`, backingBytes, deploy.ThinPool, deploy.ThinVG)
	bootstrapScript = `drbdadm -- --clear-bitmap new-current-uuid s`
	waitScript      = `until drbdsetup status s | grep -q 'peer-disk:UpToDate'; do sleep 0.05; done`
	removeScript    = `drbdadm down s; drbdadm -- --force wipe-md s >/dev/null 2>&1; lvremove -qq -y ` + deploy.ThinVG + `/s`
) // scripts that nobody changes

func (s shell) lay(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "s.res")
	if err := os.WriteFile(file, []byte(resource), 0o644); err != nil {
		return err
	}
	for _, n := range s.Nodes {
		if err := s.World.Push(ctx, n, file, "/etc/drbd.d/s.res"); err != nil {
			return err
		}
	}
	return nil
}

// form does on both nodes at once what can be done at once.
func (s shell) form(ctx context.Context, b *testing.B) {
	b.Helper()
	s.both(ctx, b, formScript)
	if _, err := s.On(ctx, "n1", bootstrapScript); err != nil {
		b.Fatal(err)
	}
	s.both(ctx, b, waitScript)
}

func (s shell) remove(ctx context.Context, b *testing.B) {
	b.Helper()
	s.both(ctx, b, removeScript)
}

func (s shell) both(ctx context.Context, b *testing.B, script string) {
	b.Helper()
	done := make(chan error, len(s.Nodes))
	for _, n := range s.Nodes {
		go func() {
			_, err := s.On(ctx, n, script)
			done <- err
		}()
	}
	for range s.Nodes {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}
