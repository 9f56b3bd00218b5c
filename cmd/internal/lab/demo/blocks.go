package demo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy"
	"rvol/drbd"
	"rvol/lvm"
)

// blocks writes to the device itself, on simulated nodes, which have no file systems.
type blocks struct{ *deploy.Cluster }

// What is written: so many pieces, so far apart, each of so many bytes.
const (
	pieces = 16
	apart  = 1 << 20
	piece  = 4 << 10
)

// run runs one of the simulated node's own commands.
func (b blocks) run(ctx context.Context, node string, argv ...string) (string, error) {
	out, err := lab.Runner(b.World, node)(ctx, argv...)
	return string(out), err
}

func (b blocks) fill(ctx context.Context, node, volume string) (string, error) {
	b.Tell.Command(node, fmt.Sprintf("write %s RANDOM-TEXT OFFSET   (%d times %d bytes; simulated nodes have no file systems)", volume, pieces, piece))
	sum := sha256.New()
	for i := range pieces {
		var text strings.Builder
		for text.Len() < piece {
			text.WriteString(rand.Text())
		}
		data := text.String()[:piece]
		if _, err := b.run(ctx, node, "write", volume, data, strconv.Itoa(i*apart)); err != nil {
			return "", err
		}
		sum.Write([]byte(data))
	}
	return b.say(sum.Sum(nil), volume), nil
}

func (b blocks) sum(ctx context.Context, node, volume string) (string, error) {
	b.Tell.Command(node, fmt.Sprintf("read %s %d OFFSET   (%d times)", volume, piece, pieces))
	sum := sha256.New()
	for i := range pieces {
		data, err := b.run(ctx, node, "read", volume, strconv.Itoa(piece), strconv.Itoa(i*apart))
		if err != nil {
			return "", err
		}
		sum.Write([]byte(data))
	}
	return b.say(sum.Sum(nil), volume), nil
}

func (b blocks) say(sum []byte, volume string) string {
	text := hex.EncodeToString(sum) + "  " + volume
	b.Tell.Say("%s", text)
	return text
}

func (blocks) filled() string { return "blocks written and synced" }
func (blocks) found() string  { return "checksum right" }

func (b blocks) leave(context.Context, string, string) error { return nil } // nothing was mounted

func (b blocks) traces(ctx context.Context, node, volume string) ([]string, error) {
	run := lab.Runner(b.World, node)
	b.Tell.Command(node, "lvm fullreport")
	report, err := lvm.New(run).Report(ctx)
	if err != nil {
		return nil, err
	}
	version, err := drbd.Detect(ctx, run)
	if err != nil {
		return nil, err
	}
	b.Tell.Command(node, "drbdsetup status")
	resources, err := drbd.New(run, version).StatusAll(ctx)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, lv := range report.LVs {
		if strings.HasPrefix(lv.Name, "rvol-") {
			left = append(left, "logical volume "+lv.Name)
		}
	}
	for _, r := range resources {
		left = append(left, "DRBD resource "+r.Name)
	}
	file := "/etc/drbd.d/rvol/rvol-" + volume + ".res"
	b.Tell.Command(node, "cat "+file)
	if _, err := b.run(ctx, node, "cat", file); err == nil {
		left = append(left, file)
	}
	return left, ctx.Err()
}
